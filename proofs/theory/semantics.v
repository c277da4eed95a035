(* Programs over groups of device ids, with the rules of rules.v, and what each rule says in terms
   of devices instead of positions. A changed premise or effect in a .p2c text breaks this file. *)
From Coq Require Import List Arith Bool Lia.
From P2Theory Require Import language rules.
Import ListNotations.

Inductive collective := AllReduce | ReduceScatter | AllGather | Reduce | Broadcast.

(* n devices in the group, k chunks, m contributors. *)
Definition legal (c : collective) (n k m : nat) (s : state) : bool :=
  match c with
  | AllReduce => AllReduce.legal n k m s
  | ReduceScatter => ReduceScatter.legal n k m s
  | AllGather => AllGather.legal n k m s
  | Reduce => Reduce.legal n k m s
  | Broadcast => Broadcast.legal n k m s
  end.

Definition after (c : collective) (n k m : nat) (s : state) : state :=
  match c with
  | AllReduce => AllReduce.after n k m s
  | ReduceScatter => ReduceScatter.after n k m s
  | AllGather => AllGather.after n k m s
  | Reduce => Reduce.after n k m s
  | Broadcast => Broadcast.after n k m s
  end.

Fixpoint position (d : nat) (g : list nat) : nat :=
  match g with [] => 0 | x :: g' => if d =? x then 0 else S (position d g') end.

Definition is_member (d : nat) (g : list nat) : bool := existsb (Nat.eqb d) g.

(* The states of the devices of a group, by position. *)
Definition view (s : state) (g : list nat) : state := fun i r c => s (nth i g 0) r c.

Definition hold (m : nat) (s : state) (d r : nat) : bool := some m (fun c => s d r c).
Definition holder (k m : nat) (s : state) (d : nat) : bool := some k (fun r => hold m s d r).

(* A step on disjoint groups. Devices in no group keep their state. *)
Definition legal_on (c : collective) (k m : nat) (gs : list (list nat)) (s : state) : bool :=
  forallb (fun g => legal c (length g) k m (view s g)) gs.
Definition after_on (c : collective) (k m : nat) (gs : list (list nat)) (s : state) : state :=
  fun d r e => match find (is_member d) gs with
               | Some g => after c (length g) k m (view s g) (position d g) r e
               | None => s d r e
               end.

(* Some device of every group holds something. *)
Definition occupied_on (k m : nat) (gs : list (list nat)) (s : state) : bool :=
  forallb (fun g => existsb (holder k m s) g) gs.

(* ---- positions and members ---- *)

Lemma is_member_spec d g : is_member d g = true <-> In d g.
Proof.
  unfold is_member. rewrite existsb_exists. split.
  - intros [x [H E]]. apply Nat.eqb_eq in E. subst. auto.
  - intros H. exists d. rewrite Nat.eqb_refl. auto.
Qed.

Lemma position_lt d g : In d g -> position d g < length g.
Proof.
  induction g as [|x g IH]; simpl; [tauto|]. intros [->|H].
  - rewrite Nat.eqb_refl. lia.
  - destruct (d =? x); [lia|]. apply IH in H. lia.
Qed.

Lemma nth_position d g : In d g -> nth (position d g) g 0 = d.
Proof.
  induction g as [|x g IH]; simpl; [tauto|]. intros H.
  destruct (Nat.eqb_spec d x) as [->|]; auto. apply IH. destruct H; congruence.
Qed.

Lemma position_nth i g : NoDup g -> i < length g -> position (nth i g 0) g = i.
Proof.
  revert i. induction g as [|x g IH]; simpl; intros i Hn Hi; [lia|]. inversion Hn; subst.
  destruct i; simpl; [rewrite Nat.eqb_refl; auto|].
  destruct (Nat.eqb_spec (nth i g 0) x) as [E|].
  - subst. exfalso. match goal with H : ~ In _ _ |- _ => apply H end. apply nth_In. lia.
  - rewrite IH; auto; lia.
Qed.

Lemma position_inj d d' g : In d g -> In d' g -> position d g = position d' g -> d = d'.
Proof. intros H H' E. rewrite <- (nth_position d g), <- (nth_position d' g), E; auto. Qed.

Lemma all_members g P :
  all (length g) (fun i => P (nth i g 0)) = true <-> forall d, In d g -> P d = true.
Proof.
  rewrite all_spec. split.
  - intros H d Hd. rewrite <- (nth_position d g) by auto. apply H, position_lt, Hd.
  - intros H i Hi. apply H, nth_In, Hi.
Qed.

Lemma some_members g P :
  some (length g) (fun i => P (nth i g 0)) = true <-> exists d, In d g /\ P d = true.
Proof.
  rewrite some_spec. split.
  - intros [i [Hi H]]. exists (nth i g 0). split; auto. apply nth_In, Hi.
  - intros [d [Hd H]]. exists (position d g). rewrite nth_position; auto.
    split; auto. apply position_lt, Hd.
Qed.

Lemma all_pairs g P :
  all (length g) (fun i => all (length g) (fun j => P (nth i g 0) (nth j g 0))) = true
  <-> forall d d', In d g -> In d' g -> P d d' = true.
Proof.
  rewrite (all_members g (fun d => all (length g) (fun j => P d (nth j g 0)))).
  split; intros H d; [intros d' Hd|intros Hd]; apply (all_members g (P d)); auto.
Qed.

Lemma nth_zero (g : list nat) : nth 0 g 0 = hd 0 g.
Proof. destruct g; reflexivity. Qed.

Lemma In_hd (g : list nat) : g <> [] -> In (hd 0 g) g.
Proof. destruct g; simpl; [congruence|auto]. Qed.

Lemma and_iff (A B C D : Prop) : (A <-> B) -> (C <-> D) -> (A /\ C <-> B /\ D).
Proof. tauto. Qed.

(* ---- the premises, device by device ---- *)

Definition same_chunks (k m : nat) (s : state) (g : list nat) : Prop :=
  forall d d' r, In d g -> In d' g -> r < k -> hold m s d r = hold m s d' r.
Definition disjoint (k m : nat) (s : state) (g : list nat) : Prop :=
  forall d d' r c, In d g -> In d' g -> d <> d' -> r < k -> c < m ->
    s d r c = true -> s d' r c = true -> False.
Definition disjoint_chunks (k m : nat) (s : state) (g : list nat) : Prop :=
  forall d d' r, In d g -> In d' g -> d <> d' -> r < k ->
    hold m s d r = true -> hold m s d' r = true -> False.
Definition equal_count (k m : nat) (s : state) (g : list nat) : Prop :=
  forall d d', In d g -> In d' g -> count k (hold m s d) = count k (hold m s d').
Definition contained (k m : nat) (s : state) (g : list nat) : Prop :=
  forall d r c, In d g -> r < k -> c < m -> s d r c = true -> s (hd 0 g) r c = true.
Definition informative (k m : nat) (s : state) (g : list nat) : Prop :=
  exists d r c, In d g /\ r < k /\ c < m /\ s (hd 0 g) r c = true /\ s d r c = false.
(* Position i of n keeps the chunk of index x of t: it is in the i-th of n equal runs. *)
Definition in_run (n t i x : nat) : Prop := i * t <= x * n /\ x * n < (i + 1) * t.

Lemma same_chunks_spec k m s g :
  all (length g) (fun i => all (length g) (fun j => all k (fun r =>
    Bool.eqb (some m (fun c => view s g i r c)) (some m (fun c => view s g j r c))))) = true
  <-> same_chunks k m s g.
Proof.
  unfold view. rewrite (all_pairs g (fun d d' => all k (fun r =>
    Bool.eqb (some m (fun c => s d r c)) (some m (fun c => s d' r c))))).
  unfold same_chunks, hold. split; intros H d d'.
  - intros r Hd Hd' Hr. specialize (H d d' Hd Hd'). rewrite all_spec in H. apply eqb_prop. auto.
  - intros Hd Hd'. apply all_spec. intros r Hr. rewrite (H d d' r) by auto. apply eqb_reflx.
Qed.

(* No two members have q, by position and by device. *)
Lemma apart_members g (q : nat -> bool) : NoDup g ->
  ((forall i, i < length g -> forall j, j < length g ->
      implb (i <? j) (negb (q (nth i g 0) && q (nth j g 0))) = true) <->
   (forall d d', In d g -> In d' g -> d <> d' -> q d = true -> q d' = true -> False)).
Proof.
  intros Hn. split.
  - intros H d d' Hd Hd' Hne E E'. pose proof (position_lt d g Hd). pose proof (position_lt d' g Hd').
    destruct (Nat.lt_total (position d g) (position d' g)) as [L|[L|L]];
      [|apply position_inj in L; auto|];
      [specialize (H (position d g) ltac:(auto) (position d' g))|
       specialize (H (position d' g) ltac:(auto) (position d g))];
      rewrite !nth_position, E, E', (proj2 (Nat.ltb_lt _ _) L) in H by auto; discriminate H; auto.
  - intros H i Hi j Hj. destruct (Nat.ltb_spec i j); simpl; auto.
    destruct (q (nth i g 0)) eqn:E; simpl; auto. destruct (q (nth j g 0)) eqn:E'; auto.
    exfalso. apply (H (nth i g 0) (nth j g 0)); auto using nth_In.
    intros F. assert (i = j); [|lia]. rewrite <- (position_nth i g), <- (position_nth j g), F; auto.
Qed.

Lemma disjoint_spec k m s g : NoDup g ->
  all (length g) (fun i => all (length g) (fun j => all k (fun r => all m (fun c =>
    implb (i <? j) (negb (view s g i r c && view s g j r c)))))) = true
  <-> disjoint k m s g.
Proof.
  intros Hn. unfold view, disjoint. repeat setoid_rewrite all_spec. split.
  - intros H d d' r c Hd Hd' Hne Hr Hc. apply (apart_members g (fun d => s d r c) Hn); auto.
  - intros H i Hi j Hj r Hr c Hc. apply (apart_members g (fun d => s d r c) Hn); auto.
    intros d d' Hd Hd' Hne. apply H; auto.
Qed.

Lemma disjoint_chunks_spec k m s g : NoDup g ->
  all (length g) (fun i => all (length g) (fun j => all k (fun r =>
    implb (i <? j) (negb (hold m (view s g) i r && hold m (view s g) j r))))) = true
  <-> disjoint_chunks k m s g.
Proof.
  intros Hn. change (hold m (view s g)) with (fun i => hold m s (nth i g 0)).
  unfold disjoint_chunks. cbv beta. repeat setoid_rewrite all_spec. split.
  - intros H d d' r Hd Hd' Hne Hr. apply (apart_members g (fun d => hold m s d r) Hn); auto.
  - intros H i Hi j Hj r Hr. apply (apart_members g (fun d => hold m s d r) Hn); auto.
    intros d d' Hd Hd' Hne. apply H; auto.
Qed.

Lemma allreduce_legal k m s g : NoDup g ->
  legal AllReduce (length g) k m (view s g) = true
  <-> same_chunks k m s g /\ disjoint k m s g.
Proof.
  intros Hn. rewrite <- same_chunks_spec, <- disjoint_spec by auto. apply andb_true_iff.
Qed.

Lemma reduce_legal k m s g : NoDup g ->
  legal Reduce (length g) k m (view s g) = true
  <-> same_chunks k m s g /\ disjoint k m s g.
Proof.
  intros Hn. rewrite <- same_chunks_spec, <- disjoint_spec by auto. apply andb_true_iff.
Qed.

Lemma reducescatter_legal k m s g : NoDup g -> g <> [] ->
  legal ReduceScatter (length g) k m (view s g) = true
  <-> same_chunks k m s g /\ disjoint k m s g /\ count k (hold m s (hd 0 g)) mod length g = 0.
Proof.
  intros Hn Hg. rewrite <- same_chunks_spec, <- disjoint_spec by auto.
  unfold legal, ReduceScatter.legal. rewrite !andb_true_iff.
  unfold ReduceScatter.premise_divisible, ReduceScatter.total, ReduceScatter.held, view, modulo.
  rewrite nth_zero, Nat.eqb_eq. destruct (Nat.eqb_spec (length g) 0) as [E|E].
  - destruct g; simpl in *; congruence.
  - unfold hold. apply and_assoc.
Qed.

Lemma allgather_legal k m s g : NoDup g ->
  legal AllGather (length g) k m (view s g) = true
  <-> disjoint_chunks k m s g /\ equal_count k m s g.
Proof.
  intros Hn. rewrite <- disjoint_chunks_spec by auto.
  unfold legal, AllGather.legal. rewrite andb_true_iff.
  apply and_iff_compat_l. unfold AllGather.premise_equal_count, AllGather.holdings, AllGather.held.
  change (view s g) with (fun i => s (nth i g 0)). cbv beta.
  rewrite (all_pairs g (fun d d' => count k (fun r => some m (fun c => s d r c)) =?
    count k (fun r => some m (fun c => s d' r c)))).
  split; intros H d d' Hd Hd'; apply Nat.eqb_eq; apply H; auto.
Qed.

Lemma broadcast_legal k m s g :
  legal Broadcast (length g) k m (view s g) = true
  <-> contained k m s g /\ informative k m s g.
Proof.
  unfold legal, Broadcast.legal. rewrite andb_true_iff.
  unfold Broadcast.premise_contained, Broadcast.premise_informative, view.
  rewrite nth_zero.
  rewrite (all_members g (fun d => all k (fun r => all m (fun c =>
     implb (s d r c) (s (hd 0 g) r c))))).
  rewrite (some_members g (fun d => some k (fun r => some m (fun c =>
     s (hd 0 g) r c && negb (s d r c))))).
  unfold contained, informative. apply and_iff.
  - split.
    + intros H d r c Hd Hr Hc E. specialize (H d Hd). rewrite all_spec in H. specialize (H r Hr).
      rewrite all_spec in H. specialize (H c Hc). rewrite E in H. auto.
    + intros H d Hd. apply all_spec. intros r Hr. apply all_spec. intros c Hc.
      destruct (s d r c) eqn:E; simpl; auto. apply (H d); auto.
  - split.
    + intros [d [Hd H]]. apply some_spec in H. destruct H as [r [Hr H]]. apply some_spec in H.
      destruct H as [c [Hc H]]. apply andb_true_iff in H. destruct H as [H H'].
      apply negb_true_iff in H'. exists d, r, c. auto.
    + intros [d [r [c [Hd [Hr [Hc [H H']]]]]]]. exists d. split; auto. apply some_spec.
      exists r. split; auto. apply some_spec. exists c. rewrite H, H'. auto.
Qed.

(* ---- the effects ---- *)

Lemma union_spec s g r c :
  some (length g) (fun j => view s g j r c) = true <-> exists d, In d g /\ s d r c = true.
Proof. apply (some_members g (fun d => s d r c)). Qed.

Lemma allreduce_after k m s g d r c : 
  after AllReduce (length g) k m (view s g) (position d g) r c = true
  <-> exists d', In d' g /\ s d' r c = true.
Proof. apply union_spec. Qed.

Lemma allgather_after k m s g d r c : 
  after AllGather (length g) k m (view s g) (position d g) r c = true
  <-> exists d', In d' g /\ s d' r c = true.
Proof. apply union_spec. Qed.

Lemma reduce_after k m s g d r c : 
  after Reduce (length g) k m (view s g) (position d g) r c = true
  <-> (exists d', In d' g /\ s d' r c = true) /\ position d g = 0.
Proof.
  unfold after, Reduce.after. rewrite andb_true_iff, union_spec, Nat.eqb_eq. reflexivity.
Qed.

Lemma broadcast_after k m s g d r c : 
  after Broadcast (length g) k m (view s g) (position d g) r c = s (hd 0 g) r c.
Proof. unfold after, Broadcast.after, view. rewrite nth_zero. reflexivity. Qed.

Lemma index_spec k m s r : r <= k ->
  count k (fun q => (q <? r) && hold m s 0 q) = count r (hold m s 0).
Proof.
  induction 1.
  - apply count_ext. intros i Hi. apply Nat.ltb_lt in Hi. rewrite Hi. reflexivity.
  - rewrite count_S, IHle. destruct (Nat.ltb_spec m0 r); [lia|]. simpl. lia.
Qed.

Lemma reducescatter_after k m s g d r c : r < k ->
  after ReduceScatter (length g) k m (view s g) (position d g) r c = true
  <-> (exists d', In d' g /\ s d' r c = true) /\
      in_run (length g) (count k (hold m s (hd 0 g))) (position d g) (count r (hold m s (hd 0 g))).
Proof.
  intros Hr. unfold after, ReduceScatter.after. rewrite !andb_true_iff, union_spec.
  rewrite Nat.leb_le, Nat.ltb_lt.
  assert (E : ReduceScatter.index (length g) k m (view s g) r = count r (hold m s (hd 0 g))).
  { unfold ReduceScatter.index. change (ReduceScatter.held (length g) k m (view s g) 0)
      with (hold m (view s g) 0). rewrite index_spec by lia. unfold hold, view.
    rewrite nth_zero. reflexivity. }
  assert (F : ReduceScatter.total (length g) k m (view s g) = count k (hold m s (hd 0 g))).
  { unfold ReduceScatter.total, ReduceScatter.held, hold, view. rewrite nth_zero. reflexivity. }
  rewrite E, F. unfold in_run. tauto.
Qed.

(* ---- steps ---- *)

Lemma legal_on_spec c k m gs s :
  legal_on c k m gs s = true <-> forall g, In g gs -> legal c (length g) k m (view s g) = true.
Proof. apply forallb_forall. Qed.

Lemma occupied_on_spec k m gs s :
  occupied_on k m gs s = true
  <-> forall g, In g gs -> exists d r c, In d g /\ r < k /\ c < m /\ s d r c = true.
Proof.
  unfold occupied_on, holder, hold. rewrite forallb_forall. split; intros H g Hg; specialize (H g Hg).
  - apply existsb_exists in H. destruct H as [d [Hd H]]. apply some_spec in H.
    destruct H as [r [Hr H]]. apply some_spec in H. destruct H as [c [Hc H]]. exists d, r, c. auto.
  - destruct H as [d [r [c [Hd [Hr [Hc H]]]]]]. apply existsb_exists. exists d. split; auto.
    apply some_spec. exists r. split; auto. apply some_spec. exists c. auto.
Qed.
