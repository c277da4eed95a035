(* What the certificates program-valid, program-invalid and synthesis-complete claim, and functions
   that decide it: the core of p2-check-verified. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics adequacy digits shapes runs programs partition pins
  weights machine equivalence sizes hierarchies choices counts checker.
From P2Theory Require lowering.
Import ListNotations.

(* A step of a certificate: whether it is an instruction, and one of a Master that the dialect refuses. *)
Record cstep := CStep {
  instruction : bool;
  refused : bool;
  does : collective;
  on : list (list nat) }.

Definition ids (p : list cstep) : id_program := map (fun st => (does st, on st)) p.

Fixpoint legal_steps (k m : nat) (p : list cstep) (s : state) : bool :=
  match p with
  | [] => true
  | st :: p' => negb (refused st) && (negb (instruction st) || occupied_on k m (on st) s) &&
                legal_on (does st) k m (on st) s && legal_steps k m p' (after_on (does st) k m (on st) s)
  end.

(* The claim: all steps are legal and the last state is the goal. *)
Definition claim (k m : nat) (classes : list (list nat)) (p : list cstep) : Prop :=
  legal_steps k m p own = true /\
  forall d r c, d < m -> r < k -> c < m -> run_ids k m (ids p) own d r c = in_class classes d c.

(* ---- decided on tables ---- *)

Definition occupied_b (gs : list (list nat)) (t : table) : bool :=
  forallb (fun g => existsb (fun d => existsb nonzero (device t d)) g) gs.
Definition legal_cstep (st : cstep) (t : table) : bool :=
  negb (refused st) && (negb (instruction st) || occupied_b (on st) t) && legal_step_b (does st) (on st) t.
Fixpoint legal_csteps (m : nat) (p : list cstep) (t : table) : bool :=
  match p with
  | [] => true
  | st :: p' => legal_cstep st t && legal_csteps m p' (table_after (does st) (on st) m t)
  end.
Definition well_formed (m : nat) (classes : list (list nat)) (p : list cstep) : bool :=
  groups_ok m (ids p) && forallb (forallb (fun d => d <? m)) classes.

Definition program_valid (k m : nat) (classes : list (list nat)) (p : list cstep) : bool :=
  let t := initial_table k m in
  well_formed m classes p && legal_csteps m p t && goal_b k m classes (run_table (ids p) m t).

(* Why a program is not valid: the rule that a group breaks first in the state before a step. *)
Inductive rule := EmptyGroup | Premise (q : premise) | MasterRefused | NotGoal.
Definition group_rule (st : cstep) (ls : list chunks_of) : option rule :=
  if instruction st && negb (existsb (existsb nonzero) ls) then Some EmptyGroup
  else option_map Premise (first_broken (does st) ls).
Definition premise_eqb (x y : premise) : bool :=
  match x, y with
  | SameChunks, SameChunks | Disjoint, Disjoint | Divisible, Divisible | DisjointChunks, DisjointChunks
  | EqualCount, EqualCount | Contained, Contained | Informative, Informative => true
  | _, _ => false
  end.
Definition rule_eqb (x y : rule) : bool :=
  match x, y with
  | EmptyGroup, EmptyGroup | MasterRefused, MasterRefused | NotGoal, NotGoal => true
  | Premise a, Premise b => premise_eqb a b
  | _, _ => false
  end.
Definition list_eqb (x y : list nat) : bool := (length x =? length y) && forallb (fun ab => fst ab =? snd ab) (combine x y).

Fixpoint refuted_from (k m : nat) (classes : list (list nat)) (p : list cstep) (t : table)
    (n : nat) (r : rule) (g : list nat) : bool :=
  match p with
  | [] => (n =? 0) && rule_eqb r NotGoal && negb (goal_b k m classes t)
  | st :: p' =>
      match n with
      | 0 => match r with
             | MasterRefused => refused st
             | NotGoal => false
             | _ => existsb (list_eqb g) (on st) &&
                    match group_rule st (members_of t g) with Some r' => rule_eqb r r' | None => false end
             end
      | S n' => legal_cstep st t && refuted_from k m classes p' (table_after (does st) (on st) m t) n' r g
      end
  end.
(* n steps stand before the one that breaks the rule. *)
Definition program_refuted (k m : nat) (classes : list (list nat)) (p : list cstep) (n : nat) (r : rule)
    (g : list nat) : bool :=
  well_formed m classes p && refuted_from k m classes p (initial_table k m) n r g.

Section Verdicts.
Variables k m : nat.
Notation stands_for := (stands_for k m).

Lemma existsb_nonzero t s d : stands_for t s -> d < m ->
  (existsb nonzero (device t d) = true <-> exists r, r < k /\ hold m s d r = true).
Proof.
  intros T Hd. rewrite existsb_exists. split.
  - intros [x [Hx E]]. apply (In_nth _ _ 0%N) in Hx. destruct Hx as [r [_ F]].
    assert (Hr : r < k).
    { destruct (Nat.lt_ge_cases r k); auto. pose proof (beyond k m t s d r T Hd H) as B.
      unfold chunk in B. rewrite B in F. subst. discriminate. }
    exists r. split; auto. rewrite <- (nonzero_hold k m t s) by auto. unfold chunk. rewrite F. auto.
  - intros [r [Hr E]]. rewrite <- (nonzero_hold k m t s) in E by auto. exists (chunk (device t d) r).
    split; auto. unfold chunk in *. destruct (Nat.lt_ge_cases r (length (device t d))).
    + apply nth_In. auto.
    + rewrite nth_overflow in E by auto. discriminate.
Qed.

Lemma occupied_b_spec gs t s : stands_for t s -> forallb (group_ok m) gs = true ->
  (occupied_b gs t = true <-> occupied_on k m gs s = true).
Proof.
  intros T G. rewrite forallb_forall in G. unfold occupied_b, occupied_on, holder. rewrite !forallb_forall.
  split; intros F g Hi; destruct (group_ok_spec m g (G g Hi)) as [A _]; specialize (F g Hi);
    rewrite existsb_exists in *; destruct F as [d [Hd F]]; exists d; split; auto;
    rewrite (existsb_nonzero t s) in *; auto; rewrite some_spec in *; auto.
Qed.

Lemma legal_cstep_spec st t s : stands_for t s -> forallb (group_ok m) (on st) = true ->
  (legal_cstep st t = true <->
   negb (refused st) && (negb (instruction st) || occupied_on k m (on st) s) && legal_on (does st) k m (on st) s = true).
Proof.
  intros T G. unfold legal_cstep. rewrite !andb_true_iff, !orb_true_iff, (occupied_b_spec _ t s T G),
    (legal_step_b_spec k m _ _ t s T G). tauto.
Qed.

Lemma legal_csteps_spec p t s : stands_for t s -> groups_ok m (ids p) = true ->
  (legal_csteps m p t = true <-> legal_steps k m p s = true) /\
  (legal_steps k m p s = true -> stands_for (run_table (ids p) m t) (run_ids k m (ids p) s)).
Proof.
  revert t s. induction p as [|st p IH]; intros t s T G; [simpl; tauto|].
  cbn [ids map groups_ok forallb] in G. apply andb_true_iff in G. destruct G as [G1 G2]. cbn [snd] in G1.
  cbn [legal_csteps legal_steps ids map run_table run_ids]. fold (ids p).
  rewrite (andb_true_iff (legal_cstep st t)), (legal_cstep_spec st t s T G1), (andb_true_iff (_ && _ && _)).
  destruct (negb (refused st) && (negb (instruction st) || occupied_on k m (on st) s) && legal_on (does st) k m (on st) s) eqn:E.
  - assert (L : legal_on (does st) k m (on st) s = true) by (apply andb_true_iff in E; tauto).
    destruct (IH _ _ (table_after_stands k m _ _ t s T G1 L) G2) as [A B]. split; [tauto|]. intros [_ Q]. auto.
  - split; [split; intros []; discriminate|]. intros []; discriminate.
Qed.

Lemma classes_range classes d c : forallb (forallb (fun d => d <? m)) classes = true ->
  in_class classes d c = true -> c < m.
Proof.
  intros W. unfold in_class, class_mask. destruct (find (is_member d) classes) as [l|] eqn:F; [|rewrite has_zero; discriminate].
  apply find_some in F. destruct F as [Hi _]. rewrite forallb_forall in W. specialize (W l Hi).
  rewrite forallb_forall in W. intros E. apply Nat.ltb_lt, W, has_mask_of, E.
Qed.

Theorem program_valid_decides classes p : well_formed m classes p = true ->
  (program_valid k m classes p = true <-> claim k m classes p).
Proof.
  intros W. unfold program_valid, claim. rewrite W. cbn [andb]. cbv zeta.
  unfold well_formed in W. apply andb_true_iff in W. destruct W as [G W]. rewrite andb_true_iff.
  destruct (legal_csteps_spec p _ _ (initial_stands k m) G) as [A B]. rewrite A.
  split; intros [L F]; (split; [auto|]);
    (apply (goal_b_spec k m classes _ _ (B L)); [intros d c _; apply classes_range; auto|auto]).
Qed.

Lemma find_broken {A} (f : A -> bool) l x : find (fun q => negb (f q)) l = Some x -> forallb f l = false.
Proof.
  intros F. apply find_some in F. destruct F as [Hi E]. apply negb_true_iff in E.
  destruct (forallb f l) eqn:Q; auto. rewrite forallb_forall in Q. rewrite Q in E; auto.
Qed.

Lemma list_eqb_spec x y : list_eqb x y = true -> x = y.
Proof.
  unfold list_eqb. rewrite andb_true_iff, Nat.eqb_eq. revert y.
  induction x as [|a x IH]; intros [|b y] [L E]; simpl in *; try discriminate; auto.
  apply andb_true_iff in E. destruct E as [E1 E2]. apply Nat.eqb_eq in E1. f_equal; auto.
Qed.

Lemma refuted_from_sound classes p t s n r g : stands_for t s -> groups_ok m (ids p) = true ->
  forallb (forallb (fun d => d <? m)) classes = true ->
  refuted_from k m classes p t n r g = true ->
  legal_steps k m p s = true ->
  (forall d r c, d < m -> r < k -> c < m -> run_ids k m (ids p) s d r c = in_class classes d c) -> False.
Proof.
  revert t s n. induction p as [|st p IH]; intros t s n T G W F L Q; cbn [refuted_from] in F.
  - rewrite !andb_true_iff, negb_true_iff in F. destruct F as [_ F].
    assert (goal_b k m classes t = true); [|congruence].
    apply (goal_b_spec k m classes t s T); auto. intros d c _. apply classes_range; auto.
  - cbn [ids map groups_ok forallb] in G. apply andb_true_iff in G. destruct G as [G1 G2]. cbn [snd] in G1.
    cbn [legal_steps] in L. rewrite !andb_true_iff, negb_true_iff in L. destruct L as [[[L1 L2] L3] L4].
    destruct n as [|n].
    + assert (Grp : existsb (list_eqb g) (on st) && match group_rule st (members_of t g) with
          Some r' => rule_eqb r r' | None => false end = true -> False).
      { clear F. intros F. apply andb_true_iff in F. destruct F as [F1 F2]. apply existsb_exists in F1.
        destruct F1 as [g' [Hi F1]]. apply list_eqb_spec in F1. subst g'.
        rewrite forallb_forall in G1. destruct (group_ok_spec m g (G1 g Hi)) as [A [B C]].
        unfold group_rule in F2.
        destruct (instruction st && negb (existsb (existsb nonzero) (members_of t g))) eqn:E.
        - apply andb_true_iff in E. destruct E as [E1 E2]. rewrite E1 in L2. cbn [negb orb] in L2.
          unfold occupied_on in L2. rewrite forallb_forall in L2. specialize (L2 g Hi).
          apply existsb_exists in L2. destruct L2 as [d [Hd L2]]. unfold holder in L2. apply some_spec in L2.
          apply negb_true_iff in E2. assert (existsb (existsb nonzero) (members_of t g) = true); [|congruence].
          apply existsb_exists. exists (device t d). split; [apply in_map; auto|].
          apply (existsb_nonzero t s d T); auto.
        - destruct (first_broken (does st) (members_of t g)) as [q|] eqn:Fb; [|discriminate].
          apply find_broken in Fb. rewrite legal_on_spec in L3. specialize (L3 g Hi).
          apply (legal_b_spec k m t s g T A B C) in L3. unfold legal_b in L3. congruence. }
      destruct r; auto; try discriminate. congruence.
    + apply andb_true_iff in F. destruct F as [_ F].
      apply (IH _ _ _ (table_after_stands k m _ _ t s T G1 L3) G2 W F L4). exact Q.
Qed.

Theorem program_refuted_sound classes p n r g : program_refuted k m classes p n r g = true -> ~ claim k m classes p.
Proof.
  intros F [L Q]. unfold program_refuted, well_formed in F. rewrite !andb_true_iff in F. destruct F as [[G W] F].
  apply (refuted_from_sound classes p _ _ n r g (initial_stands k m) G W F L Q).
Qed.

End Verdicts.

(* ---- complete lists ---- *)

Inductive over_which := OverA | OverB | OverC | OverD | OverCollapsed | OverLattice.
Definition instructions (h : over_which) (axes : nat) (ns : list nat) (reduces : nat -> bool) : list step :=
  nodup step_eq_dec
    match h with
    | OverA => choices ns (hierarchy_a axes ns)
    | OverB => choices ns (hierarchy_b ns)
    | OverC => choices ns (hierarchy_c axes ns)
    | OverD => choices ns (hierarchy_d axes ns reduces)
    | OverCollapsed => choices ns (collapsed axes ns reduces)
    | OverLattice => choices_lattice axes ns reduces
    end.

(* The valid programs of at most n steps, lowered to groups of ids. *)
Definition all_programs (h : over_which) (axes : nat) (ns : list nat) (reduces : nat -> bool) (n : nat) : list id_program :=
  map (lowering.lower ns)
    (programs_of (instructions h axes ns reduces) (reduction axes ns reduces) n).

Definition instruction_over (h : over_which) (axes : nat) (ns : list nat) (reduces : nat -> bool) (V Z : N) : Prop :=
  match h with
  | OverA => over ns (hierarchy_a axes ns) V Z
  | OverB => over ns (hierarchy_b ns) V Z
  | OverC => over ns (hierarchy_c axes ns) V Z
  | OverD => over ns (hierarchy_d axes ns reduces) V Z
  | OverCollapsed => over ns (collapsed axes ns reduces) V Z
  | OverLattice => over_lattice axes ns reduces V Z
  end.

Lemma instructions_spec h axes ns reduces st : In st (instructions h axes ns reduces) <->
  instruction_over h axes ns reduces (vary st) (pin st) /\ proper ns st.
Proof.
  unfold instructions. rewrite nodup_In. destruct h; try apply choices_spec. apply choices_lattice_spec.
Qed.

(* For every placed system, every hierarchy and every length: the list is complete. *)
Theorem all_programs_complete h axes ns reduces k n q : positive_sizes ns -> multiple k ns ->
  (In q (all_programs h axes ns reduces n) <->
   exists p, q = lowering.lower ns p /\ length p <= n /\
     Forall (fun st => instruction_over h axes ns reduces (vary st) (pin st) /\ proper ns st) p /\
     valid ns k (reduction axes ns reduces) p = true).
Proof.
  intros P K. unfold all_programs. rewrite in_map_iff.
  split; intros [p [E Hp]]; exists p; (split; [auto|]); revert Hp;
    apply (complete_choices (fun st => instruction_over h axes ns reduces (vary st) (pin st)));
    eauto using reduction_big, instructions_spec.
Qed.
