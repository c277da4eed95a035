#!/bin/sh
# usage: two_hosts.sh P2_VERIFY: programs and a plan on two hosts of two ranks each, which Open MPI connects over
# TCP; then a rank on the far host that dies, and one that hangs. The hosts are network namespaces of this machine
# with a name, a /tmp and a /dev/shm of their own, so that only the network connects them. Needs root, iproute2 and
# Open MPI; takes a minute.
set -eu
verify=$(realpath "$1")
folder=$(mktemp -d -p /var/tmp)
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

end() {
  for host in 1 2; do ip netns del "p2host$host" 2>/dev/null || true; done
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM

for host in 1 2; do ip netns add "p2host$host"; done
ip link add eth0 netns p2host1 type veth peer name eth0 netns p2host2
for host in 1 2; do
  ip -n "p2host$host" addr add "10.77.0.$host/24" dev eth0
  ip -n "p2host$host" link set eth0 up
  ip -n "p2host$host" link set lo up
done

# ADDRESS COMMAND...: what ssh would do.
cat > "$folder/remote" <<'REMOTE'
#!/bin/sh
host=p2host${1##*.}
shift
exec ip netns exec "$host" unshare --uts --ipc --mount \
  sh -c "hostname $host; mount -t tmpfs none /tmp; mount -t tmpfs none /dev/shm; $*"
REMOTE
chmod +x "$folder/remote"

# RANKS WORDS...: `p2-verify run` on both hosts, begun on the first.
run() {
  ranks=$1
  shift
  timeout -k 5 100 "$folder/remote" 10.77.0.1 "cd $folder && mpirun -n $ranks --host 10.77.0.1:2,10.77.0.2:2 \
    --mca plm_rsh_agent $folder/remote --mca btl tcp,self,vader --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca mpi_yield_when_idle 1 $verify run --backend mpi $*" > "$folder/log" 2>&1
}

# WORDS: fails unless the last run printed them.
expect() {
  grep -q "$1" "$folder/log" && echo "$1" && return
  cat "$folder/log"
  echo "expected: $1"
  exit 1
}

run 4 --hierarchy 2,2 --axes 4 --reduce 0 --bytes 64K
expect '# 47 of 47 programs run, 0 wrong elements'
"$verify" reshard --shape 8,8 --from 1x2:S0,R --to 1x2:S1,R --plan broadcast --plan-out "$folder/plan.json" > "$folder/log"
run 4 plan.json
expect '# 1 of 1 plans run, 0 wrong elements'
if run 4 --hierarchy 2,2 --axes 4 --reduce 0 --size 2 --fault die:3:1; then exit 1; fi
expect 'rank 3'
if run 4 --hierarchy 2,2 --axes 4 --reduce 0 --size 2 --fault hang:2:1 --timeout 10; then exit 1; fi
expect 'rank 2'
if pgrep -f "$verify run --backend mpi"; then echo 'expected no process to be left'; exit 1; fi
