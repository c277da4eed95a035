(* T1: adequacy of the five rules. For every commutative monoid, every number of devices, chunks and
   contributors, and every program of groups of any sizes: where each chunk that is held is the sum of
   its row's contributions, it is so after every legal step. *)
From Coq Require Import List Arith Bool Lia.
From P2Theory Require Import language rules semantics.
Import ListNotations.

Record commutative_monoid := {
  carrier : Type;
  add : carrier -> carrier -> carrier;
  neutral : carrier;
  add_assoc : forall a b c, add a (add b c) = add (add a b) c;
  add_comm : forall a b, add a b = add b a;
  add_neutral : forall a, add a neutral = a }.

Section Adequacy.
Variable M : commutative_monoid.
Notation "a + b" := (add M a b).
Variables k m : nat.

(* The sum of x over the contributors below n that f has. *)
Fixpoint sum_over (n : nat) (f : nat -> bool) (x : nat -> carrier M) : carrier M :=
  match n with
  | 0 => neutral M
  | S n' => if f n' then sum_over n' f x + x n' else sum_over n' f x
  end.

Lemma sum_over_ext n f g x : (forall c, c < n -> f c = g c) -> sum_over n f x = sum_over n g x.
Proof.
  induction n; intros E; simpl; auto. rewrite (E n) by lia.
  rewrite IHn by (intros; apply E; lia). auto.
Qed.

Lemma sum_over_none n f x : (forall c, c < n -> f c = false) -> sum_over n f x = neutral M.
Proof. induction n; intros E; simpl; auto. rewrite E by lia. apply IHn. intros; apply E; lia. Qed.

Lemma sum_over_or n f g x : (forall c, c < n -> f c = true -> g c = true -> False) ->
  sum_over n (fun c => f c || g c) x = sum_over n f x + sum_over n g x.
Proof.
  induction n; intros E; simpl; [rewrite add_neutral; auto|].
  rewrite IHn by (intros c Hc; apply E; lia).
  destruct (f n) eqn:F, (g n) eqn:G; simpl; auto.
  - destruct (E n); auto; lia.
  - rewrite <- !add_assoc. f_equal. apply add_comm.
  - rewrite add_assoc. auto.
Qed.

Lemma sum_over_one n d x : d < n -> sum_over n (fun c => d =? c) x = x d.
Proof.
  induction n; intros Hd; [lia|]. simpl. destruct (Nat.eqb_spec d n) as [->|].
  - rewrite sum_over_none, add_comm, add_neutral; auto. intros c Hc. apply Nat.eqb_neq. lia.
  - apply IHn. lia.
Qed.

(* b d r: the number that device d has in chunk r. A collective on a group g adds up, or copies. *)
Definition buffers := nat -> nat -> carrier M.
Definition add_up (g : list nat) (b : buffers) (r : nat) : carrier M :=
  fold_right (fun d a => b d r + a) (neutral M) g.
Definition values (c : collective) (s : state) (g : list nat) (b : buffers) : buffers := fun d r =>
  match c with
  | AllReduce | ReduceScatter | Reduce => add_up g b r
  | AllGather => match find (fun d' => hold m s d' r) g with Some d' => b d' r | None => b d r end
  | Broadcast => b (hd 0 g) r
  end.
Definition values_on (c : collective) (gs : list (list nat)) (s : state) (b : buffers) : buffers := fun d r =>
  match find (is_member d) gs with Some g => values c s g b d r | None => b d r end.

(* Each chunk held is the sum of its row; x r c is what device c contributes to chunk r. *)
Variable x : nat -> nat -> carrier M.
Definition correct (s : state) (b : buffers) : Prop :=
  forall d r, r < k -> hold m s d r = true -> b d r = sum_over m (s d r) (x r).

Lemma hold_spec s d r : hold m s d r = true <-> exists c, c < m /\ s d r c = true.
Proof. apply some_spec. Qed.

Lemma add_up_union s b r g : NoDup g ->
  (forall d, In d g -> b d r = sum_over m (s d r) (x r)) ->
  (forall d d' c, In d g -> In d' g -> d <> d' -> c < m -> s d r c = true -> s d' r c = true -> False) ->
  add_up g b r = sum_over m (fun c => existsb (fun d => s d r c) g) (x r).
Proof.
  induction g as [|d g IH]; intros Hn Hb Hd; simpl.
  - rewrite sum_over_none; auto.
  - inversion Hn; subst. rewrite Hb by (left; auto). fold (add_up g b r). rewrite IH; auto.
    + rewrite sum_over_or; auto. intros c Hc E E'. apply existsb_exists in E'.
      destruct E' as [d' [Hd' E']]. apply (Hd d d' c); auto.
      * left; auto.
      * right; auto.
      * intros ->. tauto.
    + intros; apply Hb; right; auto.
    + intros d1 d2 c H3 H4. apply Hd; right; auto.
Qed.

Lemma exists_members (s : state) g r c P : (P = true <-> exists d, In d g /\ s d r c = true) ->
  P = existsb (fun d => s d r c) g.
Proof. intros E. apply eq_true_iff_eq. rewrite E, existsb_exists. reflexivity. Qed.

(* The three collectives that add. *)
Lemma sum_of_group s b g r : correct s b -> NoDup g -> r < k ->
  same_chunks k m s g -> disjoint k m s g -> (exists d, In d g /\ hold m s d r = true) ->
  add_up g b r = sum_over m (fun c => existsb (fun d => s d r c) g) (x r).
Proof.
  intros Hb Hn Hr Hs Hd [d0 [Hd0 E]]. apply add_up_union; auto.
  - intros d Hi. apply Hb; auto. rewrite (Hs d d0); auto.
  - intros d d' c Hi Hi' Hne Hc. apply (Hd d d' r c); auto.
Qed.

Theorem adequate_group c s g b d r : NoDup g -> In d g -> r < k ->
  legal c (length g) k m (view s g) = true -> correct s b ->
  hold m (after c (length g) k m (view s g)) (position d g) r = true ->
  values c s g b d r = sum_over m (after c (length g) k m (view s g) (position d g) r) (x r).
Proof.
  intros Hn Hi Hr Hl Hb Hh. apply hold_spec in Hh. destruct Hh as [c0 [Hc0 E0]].
  assert (Hg : g <> []) by (intros ->; inversion Hi).
  destruct c; unfold values.
  - apply allreduce_legal in Hl; auto. destruct Hl as [Hs Hd].
    apply allreduce_after in E0. destruct E0 as [d' [Hd' E0]].
    rewrite (sum_of_group s b g r); auto.
    + apply sum_over_ext. intros c Hc. symmetry. apply exists_members. apply allreduce_after.
    + exists d'. split; auto. apply hold_spec; eauto.
  - apply reducescatter_legal in Hl; auto. destruct Hl as [Hs [Hd _]].
    apply reducescatter_after in E0; auto. destruct E0 as [[d' [Hd' E0]] Hrun].
    rewrite (sum_of_group s b g r); auto.
    + apply sum_over_ext. intros c Hc. symmetry. apply exists_members.
      rewrite reducescatter_after by auto. tauto.
    + exists d'. split; auto. apply hold_spec; eauto.
  - apply allgather_legal in Hl; auto. destruct Hl as [Hd _].
    apply allgather_after in E0. destruct E0 as [d' [Hd' E0]].
    destruct (find (fun d' => hold m s d' r) g) as [d1|] eqn:F.
    + apply find_some in F. destruct F as [Hd1 F]. rewrite Hb by auto.
      apply sum_over_ext. intros c Hc. apply eq_true_iff_eq. rewrite allgather_after. split.
      * intros E. exists d1. auto.
      * intros [d2 [Hd2 E]]. destruct (Nat.eq_dec d1 d2) as [->|Ne]; auto.
        exfalso. apply (Hd d1 d2 r); auto. apply hold_spec; eauto.
    + apply (find_none _ _ F) in Hd'. exfalso.
      assert (hold m s d' r = true) by (apply hold_spec; eauto). congruence.
  - apply reduce_legal in Hl; auto. destruct Hl as [Hs Hd].
    apply reduce_after in E0. destruct E0 as [[d' [Hd' E0]] Hroot].
    rewrite (sum_of_group s b g r); auto.
    + apply sum_over_ext. intros c Hc. symmetry. apply exists_members. rewrite reduce_after. tauto.
    + exists d'. split; auto. apply hold_spec; eauto.
  - rewrite broadcast_after in E0. rewrite Hb; auto.
    + apply sum_over_ext. intros c Hc. rewrite broadcast_after. auto.
    + apply hold_spec; eauto.
Qed.

Theorem adequate_step c gs s b : (forall g, In g gs -> NoDup g) ->
  legal_on c k m gs s = true -> correct s b ->
  correct (after_on c k m gs s) (values_on c gs s b).
Proof.
  intros Hn Hl Hb d r Hr Hh. rewrite legal_on_spec in Hl. unfold hold, after_on, values_on in *.
  destruct (find (is_member d) gs) as [g|] eqn:F; [|apply Hb; auto].
  apply find_some in F. destruct F as [Hg Hd]. apply is_member_spec in Hd.
  apply adequate_group; auto.
Qed.

(* ---- programs ---- *)

Definition id_program := list (collective * list (list nat)).
Fixpoint legal_ids (p : id_program) (s : state) : bool :=
  match p with
  | [] => true
  | (c, gs) :: p' => legal_on c k m gs s && legal_ids p' (after_on c k m gs s)
  end.
Fixpoint run_ids (p : id_program) (s : state) : state :=
  match p with [] => s | (c, gs) :: p' => run_ids p' (after_on c k m gs s) end.
Fixpoint run_values (p : id_program) (s : state) (b : buffers) : buffers :=
  match p with
  | [] => b
  | (c, gs) :: p' => run_values p' (after_on c k m gs s) (values_on c gs s b)
  end.

Definition own : state := fun d _ c => d =? c.

Lemma adequate_program p s b : (forall c gs g, In (c, gs) p -> In g gs -> NoDup g) ->
  legal_ids p s = true -> correct s b -> correct (run_ids p s) (run_values p s b).
Proof.
  revert s b. induction p as [|[c gs] p IH]; intros s b Hn Hl Hb; simpl in *; auto.
  apply andb_true_iff in Hl. destruct Hl as [Hl Hl']. apply IH; auto.
  - intros c' gs' g Hi. apply (Hn c' gs'). auto.
  - apply adequate_step; auto. intros g. apply (Hn c gs). auto.
Qed.

(* A program whose last state is the goal leaves in every chunk of every device the sum over its class. *)
Theorem adequacy p (class : nat -> nat -> bool) :
  (forall c gs g, In (c, gs) p -> In g gs -> NoDup g) ->
  legal_ids p own = true ->
  (forall d r c, d < m -> r < k -> c < m -> run_ids p own d r c = class d c) ->
  (forall d, d < m -> class d d = true) ->
  forall d r, d < m -> r < k ->
    run_values p own (fun d r => x r d) d r = sum_over m (class d) (x r).
Proof.
  intros Hn Hl Hgoal Hclass d r Hd Hr.
  assert (C : correct own (fun d r => x r d)).
  { intros d' r' Hr' Hh. apply hold_spec in Hh. destruct Hh as [c [Hc E]].
    unfold own in E. apply Nat.eqb_eq in E. subst. symmetry. apply sum_over_one. auto. }
  rewrite (adequate_program p own _ Hn Hl C); auto.
  - apply sum_over_ext. intros; auto.
  - apply hold_spec. exists d. rewrite Hgoal; auto.
Qed.

End Adequacy.
