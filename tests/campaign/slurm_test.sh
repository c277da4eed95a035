#!/bin/bash
# A campaign on a real Slurm: munged, slurmctld and slurmd on this host, with four task slots. One shard is
# cancelled midway, another one requeued; the merge names what is missing, the next submission completes it. Then lists
# with certificates, and costs of several systems.
#
#   slurm_test.sh P2_VERIFY
#
# Needs root and the packages slurm-wlm and munge. Exit code 77, with a reason, where the daemons cannot run.
set -u

skip() {
  echo "skipped: $1"
  exit 77
}
fail() {
  echo "FAILED: $1"
  tail -n 20 "$folder"/jobs/*.log "$folder"/*.log
  exit 1
}

verify=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
PATH=$PATH:/usr/sbin
[ "$(id -u)" -eq 0 ] || skip "not root"
for program in munged slurmctld slurmd sbatch; do
  command -v $program > /dev/null || skip "no $program (packages slurm-wlm and munge)"
done
host=$(hostname)
folder=$(mktemp -d)
jobs=$folder/jobs
chmod 755 "$folder"

stop() {
  for name in slurmd slurmctld munged; do
    [ -s "$folder/$name.pid" ] && kill "$(cat "$folder/$name.pid")" 2> /dev/null
  done
  sleep 1
  rm -rf "$folder"
}
trap stop EXIT

# The daemons, with ports and folders of their own.
mkdir "$folder/state" "$folder/spool"
head -c 1024 /dev/urandom > "$folder/munge.key"
chmod 400 "$folder/munge.key"
munged --force --key-file="$folder/munge.key" --socket="$folder/munge.socket" --pid-file="$folder/munged.pid" \
  --log-file="$folder/munged.log" --seed-file="$folder/munge.seed" 2> /dev/null || skip "munged does not start"
export SLURM_CONF=$folder/slurm.conf
port=$((20000 + $$ % 20000))
cat > "$SLURM_CONF" << EOF
ClusterName=test
SlurmctldHost=$host
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge.socket
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=2
NodeName=$host CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
EOF
slurmctld -f "$SLURM_CONF" 2> /dev/null || skip "slurmctld does not start"
slurmd -f "$SLURM_CONF" 2> /dev/null || skip "slurmd does not start"
for _ in $(seq 30); do
  sinfo -h 2> /dev/null | grep -q idle && break
  sleep 1
done
sinfo -h 2> /dev/null | grep -q idle || skip "the node does not become idle: $(tail -n 1 "$folder/slurmctld.log")"

command="prove synthesis-complete expressiveness --max-devices 6 --dialect both"
"$verify" $command --format json --output "$folder/single.json"
[ -s "$folder/single.json" ] || fail "the single run has no answer"
"$verify" campaign --slurm "$jobs" --shards 4 -- $command > /dev/null || fail "campaign --slurm"

lines() { if [ -e "$1" ]; then wc -l < "$1"; else echo 0; fi; }
wait_for_lines() {
  for _ in $(seq 600); do
    [ "$(lines "$jobs/journal-$1")" -ge "$2" ] && return
    sleep 0.1
  done
  fail "shard $1 has no $2 lines after a minute"
}
wait_for_job() {
  for _ in $(seq 300); do
    squeue -h -j "$1" 2> /dev/null | grep -q . || return
    sleep 1
  done
  fail "job $1 does not end: $(squeue)"
}

read -r _ shards _ merge < <("$jobs/submit.sh")
wait_for_lines 2 20
scancel "${shards}_2"
wait_for_lines 3 20
before=$(lines "$jobs/journal-3")
scontrol requeue "${shards}_3" || fail "scontrol requeue"
sleep 1
for _ in $(seq 60); do # a requeued job waits for two minutes, unless told otherwise
  scontrol update JobId="${shards}_3" StartTime=now 2> /dev/null && break
  sleep 1
done
scontrol show job "${shards}_3" | grep -q "Restarts=1" || fail "shard 3 was not requeued"
wait_for_job "$merge"
[ "$(lines "$jobs/journal-3")" -gt "$before" ] || fail "the requeued shard did not go on"
grep -q "shard 2 of 4 is incomplete" "$jobs/merge.log" || fail "the merge does not name shard 2"
grep -q "shard [134] of 4" "$jobs/merge.log" && fail "the merge names a shard that is complete"
[ -e "$jobs/answer.json" ] && fail "there is an answer before all shards are complete"

read -r _ shards _ merge < <("$jobs/submit.sh")
wait_for_job "$merge"
cmp "$jobs/answer.json" "$folder/single.json" || fail "the answer differs from that of a single run"
echo "the answer of 4 shards, one cancelled and one requeued, is that of a single run"

whole_campaign() {
  local name=$1
  shift
  jobs=$folder/jobs-$name
  "$verify" "$@" --format json --output "$folder/single.json"
  [ -s "$folder/single.json" ] || fail "the single run of $name has no answer"
  rm -rf "$folder/certificates"
  "$verify" campaign --slurm "$jobs" --shards 4 -- "$@" > /dev/null || fail "campaign --slurm -- $name"
  read -r _ _ _ merge < <("$jobs/submit.sh")
  wait_for_job "$merge"
  cmp "$jobs/answer.json" "$folder/single.json" || fail "the answer of $name differs from that of a single run"
  echo "$name: the answer of 4 shards is that of a single run"
}

whole_campaign synth synth --hierarchy 2,2,2 --hierarchy 2,4 --axes 4,2 --reduce 0 --size 3 --certify "$folder/certificates"
"$(dirname "$verify")/p2-check" "$folder"/certificates/* > "$folder/check.log" || fail "p2-check"
whole_campaign cost cost --system "$source/examples/systems/a100-2nodes.json" --system "$source/examples/systems/v100-4nodes.json" \
  --axes data=8,shard=4 --reduce data --size 3
