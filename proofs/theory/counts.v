(* The numbers of valid programs over (d) and over the lattice, for all sizes: the lists are complete
   and without repetition, and have these lengths. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights
  machine equivalence sizes hierarchies choices.
Import ListNotations.

Lemma NoDup_flat_map {A B} (f : A -> list B) l : NoDup l -> (forall a, In a l -> NoDup (f a)) ->
  (forall a a' b, In a l -> In a' l -> In b (f a) -> In b (f a') -> a = a') -> NoDup (flat_map f l).
Proof.
  induction 1 as [|a l Hn Hl IH]; intros Hf Hd; simpl; [constructor|].
  apply NoDup_append.
  - apply Hf. left. auto.
  - apply IH; [intros; apply Hf; right; auto|]. intros a1 a2 b I1 I2. apply Hd; right; auto.
  - intros b Hb Hi. apply in_flat_map in Hi. destruct Hi as [a' [Ha' Hb']].
    assert (a = a') by (apply (Hd a a' b); auto; [left|right]; auto). subst. auto.
Qed.

Lemma programs_once cs red n m : NoDup cs -> NoDup (programs_from cs red n m).
Proof.
  intros Hc. revert m. induction n as [|n IH]; intros m; cbn [programs_from].
  - rewrite app_nil_r. destruct (accepting red m); repeat constructor. intros [].
  - assert (G : NoDup (flat_map (fun st => match mstep st m with
        | Some m' => map (cons st) (programs_from cs red n m') | None => [] end) cs)).
    { apply NoDup_flat_map; auto.
      - intros st _. destruct (mstep st m); [|constructor]. apply NoDup_map_on; [|apply IH].
        intros x y _ _ E. injection E. auto.
      - intros st st' p _ _ Hi Hi'. destruct (mstep st m); [|destruct Hi]. destruct (mstep st' m); [|destruct Hi'].
        apply in_map_iff in Hi, Hi'. destruct Hi as [q [<- _]], Hi' as [q' [E _]]. congruence. }
    destruct (accepting red m); auto. simpl. constructor; auto. intros Hi. apply in_flat_map in Hi.
    destruct Hi as [s [_ Hi]]. destruct (mstep s m); [|destruct Hi]. apply in_map_iff in Hi.
    destruct Hi as [q [E _]]. discriminate.
Qed.

(* The instructions of (d) over l levels of sizes above 1, each once; those of the lattice. *)
Definition one (_ : nat) : bool := true.
Definition instructions_d (l : nat) : list step :=
  nodup step_eq_dec (choices (repeat 2 l) (hierarchy_d 1 (repeat 2 l) one)).
Definition list_d (l n : nat) : list (list step) :=
  programs_of (instructions_d l) (reduction 1 (repeat 2 l) one) n.

(* Whether a program over (d) of one reduction axis is valid on a system, in dialect published. *)
Definition valid_over_d (ns : list nat) (k : nat) (p : list step) : Prop :=
  Forall (fun st => over ns (hierarchy_d 1 ns one) (vary st) (pin st) /\ proper ns st) p /\
  valid ns k (reduction 1 ns one) p = true.

Lemma big_two ns l e : length ns = l -> (forall n, In n ns -> 2 <= n) -> (big ns e <-> big (repeat 2 l) e).
Proof.
  intros L G. unfold big, size. destruct (Nat.lt_ge_cases e l).
  - assert (Q : In (nth e (repeat 2 l) 1) (repeat 2 l)) by (apply nth_In; rewrite repeat_length; auto).
    apply repeat_spec in Q. rewrite Q. split; auto. intros _. apply G, nth_In. lia.
  - rewrite !nth_overflow; [tauto|rewrite repeat_length; auto|lia].
Qed.

Lemma mask_two ns l ls : length ns = l -> (forall n, In n ns -> 2 <= n) -> mask ns ls = mask (repeat 2 l) ls.
Proof.
  intros L G. apply has_ext. intros e. apply eq_true_iff_eq. rewrite !mask_spec, (big_two ns l e L G). tauto.
Qed.

Lemma choices_two ns l hs : length ns = l -> (forall n, In n ns -> 2 <= n) ->
  choices ns hs = choices (repeat 2 l) hs.
Proof.
  intros L G. unfold choices. apply flat_map_ext. intros c. apply flat_map_ext. intros c'.
  rewrite !(mask_two ns l) by auto. auto.
Qed.

(* For all sizes: the list has exactly the valid programs of at most n steps, each once. *)
Theorem list_d_complete ns l k n p : length ns = l -> (forall x, In x ns -> 2 <= x) -> multiple k ns ->
  NoDup (list_d l n) /\ (In p (list_d l n) <-> length p <= n /\ valid_over_d ns k p).
Proof.
  intros L G K.
  assert (P : positive_sizes ns) by (intros x Hx; apply G in Hx; lia).
  assert (Eh : hierarchy_d 1 (repeat 2 l) one = hierarchy_d 1 ns one)
    by (unfold hierarchy_d, row; rewrite repeat_length, L; auto).
  assert (Er : reduction 1 (repeat 2 l) one = reduction 1 ns one).
  { apply has_ext. intros e. apply eq_true_iff_eq. rewrite !reduction_spec, (big_two ns l e L G), repeat_length, L. tauto. }
  split; [apply programs_once, NoDup_nodup|].
  assert (C := complete_over 1 ns one k (hierarchy_d 1 ns one) n p P K).
  unfold list_d, instructions_d. rewrite Er, Eh, <- (choices_two ns l) by auto.
  unfold programs_of in *. rewrite programs_from_spec in *.
  assert (F : Forall (fun st => In st (nodup step_eq_dec (choices ns (hierarchy_d 1 ns one)))) p <->
              Forall (fun st => In st (choices ns (hierarchy_d 1 ns one))) p).
  { split; intros F; (eapply Forall_impl; [|exact F]); intros st; apply nodup_In. }
  rewrite F. unfold valid_over_d. tauto.
Qed.
