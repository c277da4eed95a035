(* The synthesis hierarchies (a) to (d), collapsed and lattice as sets of shapes, and which of them
   expresses which, for every system and every length, in dialect published. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins.
Import ListNotations.

(* A placed system: `axes` axes, sizes of the placement factors level by level and, inside a level,
   axis by axis; which axes are reduced over. Digit e is the factor of axis e mod axes. *)
Section System.
Variable axes : nat.
Variable ns : list nat.
Variable reduces : nat -> bool.
Notation factors := (seq 0 (length ns)).

Definition axis (e : nat) : nat := e mod axes.
Definition level (e : nat) : nat := e / axes.
Definition row (a : nat) : list nat := filter (fun e => axis e =? a) factors.
Definition column (l : nat) : list nat := filter (fun e => level e =? l) factors.
Definition levels : nat := length ns / axes.

(* A hierarchy is the list of its levels below the root, each the list of its digits. *)
Definition singles (l : list nat) : list (list nat) := map (fun e => [e]) l.
Definition hierarchy_a : list (list nat) := map column (seq 0 levels).
Definition hierarchy_b : list (list nat) := singles factors.
Definition hierarchy_c : list (list nat) := singles (flat_map row (seq 0 axes)).
Definition hierarchy_d : list (list nat) := singles (flat_map row (filter reduces (seq 0 axes))).
Definition collapsed : list (list nat) :=
  map (fun l => filter (fun e => reduces (axis e)) (column l)) (seq 0 levels).

(* V has the digits of size above 1 of these levels. *)
Definition covers (V : N) (ls : list (list nat)) : Prop :=
  forall e, has V e = true <-> big ns e /\ In e (concat ls).

(* Parallel(a) of slice s reduces over the levels below a down to s; Master pins those below s as
   well. InsideGroup of slice a is Parallel(a) of the last level. *)
Definition over (hs : list (list nat)) (V Z : N) : Prop :=
  exists above slice below, hs = above ++ slice ++ below /\ covers V slice /\ (Z = 0%N \/ covers Z below).
Definition over_lattice (V Z : N) : Prop :=
  (forall e, has V e = true \/ has Z e = true -> big ns e /\ e < length ns /\ reduces (axis e) = true) /\
  apart V Z = true.

(* The reduction digits of size above 1. *)
Definition reduction : N :=
  mask_of (filter (fun e => reduces (axis e) && (2 <=? size ns e)) factors).

Lemma reduction_spec e : has reduction e = true <-> e < length ns /\ reduces (axis e) = true /\ big ns e.
Proof.
  unfold reduction, big. rewrite has_mask_of, filter_In, in_seq, andb_true_iff, Nat.leb_le.
  split; [intros [? [? ?]]|intros [? [? ?]]]; repeat split; auto; lia.
Qed.

Lemma reduction_big e : has reduction e = true -> big ns e.
Proof. intros E. apply reduction_spec in E. tauto. Qed.

Hypothesis positive : positive_sizes ns.
Hypothesis some_axis : 0 < axes.

(* ---- instructions of one hierarchy among those of another ---- *)

Lemma covers_filter P V l : (forall e, has V e = true -> P e = true) -> covers V (singles l) ->
  covers V (singles (filter P l)).
Proof.
  unfold covers, singles. intros HP HV e. rewrite (HV e).
  assert (G : forall l, In e (concat (map (fun e => [e]) l)) <-> In e l).
  { clear. induction l; simpl; [tauto|]. rewrite IHl. tauto. }
  rewrite !G, filter_In. split; [|tauto]. intros [B I]. split; [auto|split; [auto|]].
  apply HP. apply (HV e). rewrite G. auto.
Qed.

Lemma over_filter P l V Z : (forall e, has V e = true \/ has Z e = true -> P e = true) ->
  over (singles l) V Z -> over (singles (filter P l)) V Z.
Proof.
  intros HP [x [y [z [E [HV HZ]]]]]. unfold singles in E. apply map_eq_app in E.
  destruct E as [lx [l' [-> [<- E]]]]. apply map_eq_app in E. destruct E as [ly [lz [-> [<- <-]]]].
  exists (singles (filter P lx)), (singles (filter P ly)), (singles (filter P lz)). split; [|split].
  - rewrite !filter_app. unfold singles. rewrite !map_app. auto.
  - apply covers_filter; auto.
  - destruct HZ as [|HZ]; auto. right. apply covers_filter; auto.
Qed.

Lemma over_prefix l hs V Z : over hs V Z -> over (l ++ hs) V Z.
Proof.
  intros [x [y [z [-> G]]]]. exists (l ++ x), y, z. rewrite app_assoc. auto.
Qed.

Lemma covers_same V ls ls' : (forall e, In e (concat ls) <-> In e (concat ls')) -> covers V ls -> covers V ls'.
Proof. intros E G e. rewrite (G e), E. tauto. Qed.

Lemma in_singles e l : In e (concat (singles l)) <-> In e l.
Proof. unfold singles. induction l; simpl; [tauto|]. rewrite IHl. tauto. Qed.

Lemma in_row e a : In e (row a) <-> e < length ns /\ axis e = a.
Proof. unfold row. rewrite filter_In, in_seq, Nat.eqb_eq. split; intros []; split; auto; lia. Qed.

(* (d) is what is left of (c), the reduced row is what is left of (b). *)
Lemma d_of_c : flat_map row (filter reduces (seq 0 axes)) =
  filter (fun e => reduces (axis e)) (flat_map row (seq 0 axes)).
Proof.
  induction (seq 0 axes) as [|a l IH]; simpl; auto. rewrite filter_app, <- IH.
  assert (E : filter (fun e => reduces (axis e)) (row a) = if reduces a then row a else []).
  { assert (G : forall e, In e (row a) -> reduces (axis e) = reduces a).
    { intros e He. apply in_row in He. destruct He as [_ ->]. auto. }
    destruct (reduces a) eqn:R.
    - induction (row a) as [|e r IHr]; simpl; auto. rewrite (G e) by (left; auto). f_equal.
      apply IHr. intros; apply G; right; auto.
    - induction (row a) as [|e r IHr]; simpl; auto. rewrite (G e) by (left; auto).
      apply IHr. intros; apply G; right; auto. }
  rewrite E. destruct (reduces a); auto.
Qed.

Definition one_axis (a0 : nat) : Prop := a0 < axes /\ forall a, a < axes -> (reduces a = true <-> a = a0).

Lemma filter_one a0 : one_axis a0 -> filter reduces (seq 0 axes) = [a0].
Proof.
  intros [H0 H1]. replace axes with (a0 + (1 + (axes - S a0))) by lia.
  assert (N1 : forall l, (forall a, In a l -> reduces a = false) -> filter reduces l = []).
  { induction l; simpl; intros G; auto. rewrite G by (left; auto). apply IHl. intros; apply G; right; auto. }
  assert (N2 : forall a, a < axes -> a <> a0 -> reduces a = false).
  { intros a Ha Ne. destruct (reduces a) eqn:E; auto. apply H1 in E; congruence. }
  rewrite !seq_app, !filter_app. simpl.
  rewrite (N1 (seq 0 a0)), (N1 (seq (a0 + 1) _)).
  - rewrite (proj2 (H1 a0 H0) eq_refl). auto.
  - intros a Ha. apply in_seq in Ha. apply N2; lia.
  - intros a Ha. apply in_seq in Ha. apply N2; lia.
Qed.

Lemma d_of_b a0 : one_axis a0 -> flat_map row (filter reduces (seq 0 axes)) =
  filter (fun e => reduces (axis e)) factors.
Proof.
  intros Ho. rewrite (filter_one a0 Ho). simpl. rewrite app_nil_r. unfold row. apply filter_ext.
  intros e. apply eq_true_iff_eq. rewrite Nat.eqb_eq. symmetry. apply Ho. apply Nat.mod_upper_bound. lia.
Qed.

(* An instruction of (a) is one of (b). *)
Hypothesis full : length ns = levels * axes.

Lemma in_columns a n e : In e (concat (map column (seq a n))) <-> e < length ns /\ a <= level e < a + n.
Proof.
  rewrite in_concat. split.
  - intros [c [Hc He]]. apply in_map_iff in Hc. destruct Hc as [l [<- Hl]]. apply in_seq in Hl.
    unfold column in He. rewrite filter_In, in_seq, Nat.eqb_eq in He. split; lia.
  - intros [He Hl]. exists (column (level e)). split; [apply in_map, in_seq; auto|].
    unfold column. rewrite filter_In, in_seq, Nat.eqb_eq. split; auto. lia.
Qed.

Lemma level_interval e a n : a + n <= levels ->
  (e < length ns /\ a <= level e < a + n) <-> (a * axes <= e < (a + n) * axes).
Proof.
  intros Hl. unfold level. split.
  - intros [He [A B]]. pose proof (Nat.div_mod e axes). pose proof (Nat.mod_upper_bound e axes). nia.
  - intros [A B]. split; [nia|]. split; [apply Nat.div_le_lower_bound; lia|apply Nat.div_lt_upper_bound; lia].
Qed.

Lemma app_split {A} (x x' y y' : list A) : length x = length x' -> x ++ y = x' ++ y' -> x = x' /\ y = y'.
Proof.
  revert x'. induction x as [|h x IH]; intros [|h' x'] L E; simpl in *; try discriminate; auto.
  injection E as -> E. destruct (IH x') as [-> ->]; auto.
Qed.

Lemma split_seq_map {A} (f : nat -> A) a n x y : map f (seq a n) = x ++ y ->
  x = map f (seq a (length x)) /\ y = map f (seq (a + length x) (n - length x)) /\ length x <= n.
Proof.
  intros E. assert (L : length x + length y = n) by (rewrite <- app_length, <- E, map_length, seq_length; auto).
  replace n with (length x + length y) in E by auto. rewrite seq_app, map_app in E.
  replace (n - length x) with (length y) by lia.
  apply app_split in E; [|rewrite map_length, seq_length; auto]. destruct E as [E1 E2].
  split; [auto|split; [auto|lia]].
Qed.

Lemma in_seq_singles e a n : In e (concat (singles (seq a n))) <-> a <= e < a + n.
Proof. rewrite in_singles, in_seq. tauto. Qed.

Theorem b_over_a V Z : over hierarchy_a V Z -> over hierarchy_b V Z.
Proof.
  intros [x [y [z [E [HV HZ]]]]]. unfold hierarchy_a in E.
  apply split_seq_map in E. destruct E as [Ex [E Lx]]. symmetry in E. apply split_seq_map in E.
  destruct E as [Ey [Ez Ly]]. set (i := length x) in *. set (j := length y) in *.
  exists (singles (seq 0 (i * axes))), (singles (seq (i * axes) (j * axes))),
    (singles (seq ((i + j) * axes) (length ns - (i + j) * axes))). split; [|split].
  - unfold hierarchy_b, singles. rewrite <- !map_app. f_equal.
    replace (length ns) with (i * axes + (j * axes + (length ns - (i + j) * axes))) at 1 by nia.
    rewrite !seq_app. simpl. rewrite Nat.mul_add_distr_r. auto.
  - apply (covers_same V y); auto. intros e. rewrite Ey, in_columns, in_seq_singles.
    rewrite level_interval by lia. split; nia.
  - destruct HZ as [|HZ]; auto. right. apply (covers_same Z z); auto. intros e.
    rewrite Ez, in_columns, in_seq_singles, level_interval by lia. split; nia.
Qed.

(* ---- programs ---- *)

Definition program_over (hs : list (list nat)) (p : list step) : Prop :=
  Forall (fun st => over hs (vary st) (pin st)) p.
Definition program_over_lattice (p : list step) : Prop :=
  Forall (fun st => over_lattice (vary st) (pin st)) p.

Variable k : nat.
Hypothesis chunks : 0 < k.

(* A valid program of this system, in dialect published. *)
Definition correct_program (p : list step) : Prop := Forall (proper ns) p /\ valid ns k reduction p = true.

Lemma digits_reduced p st e : correct_program p -> In st p -> has (vary st) e = true \/ has (pin st) e = true ->
  has reduction e = true.
Proof.
  intros [Hp Hv] Hi [He|He].
  - apply (within_reduction ns k positive chunks reduction p Hp Hv st); auto.
  - apply (pins_within_reduction ns k positive chunks reduction p Hp Hv st); auto.
Qed.

(* x expresses y: the steps of every valid program over y are instructions over x. *)
Definition expresses (x y : list (list nat)) : Prop :=
  forall p, correct_program p -> program_over y p -> program_over x p.

Lemma expresses_filter l P : (forall e, has reduction e = true -> P e = true) ->
  expresses (singles (filter P l)) (singles l).
Proof.
  intros HP p Hc Ho. unfold program_over in *. rewrite Forall_forall in *. intros st Hi.
  apply over_filter; auto. intros e He. apply HP, (digits_reduced p st e); auto.
Qed.

Lemma reduced_axis e : has reduction e = true -> reduces (axis e) = true.
Proof. intros E. apply reduction_spec in E. tauto. Qed.

(* Any number of reduction axes. *)
Theorem d_expresses_c : expresses hierarchy_d hierarchy_c.
Proof. unfold hierarchy_d, hierarchy_c. rewrite d_of_c. apply expresses_filter, reduced_axis. Qed.

Theorem b_expresses_a : expresses hierarchy_b hierarchy_a.
Proof.
  intros p _ Ho. unfold program_over in *. eapply Forall_impl; [|exact Ho]. intros st. apply b_over_a.
Qed.

Theorem collapsed_expresses_a : expresses collapsed hierarchy_a.
Proof.
  intros p Hc Ho. unfold program_over in *. rewrite Forall_forall in *. intros st Hi.
  destruct (Ho st Hi) as [x [y [z [E [HV HZ]]]]]. unfold hierarchy_a in E.
  apply split_seq_map in E. destruct E as [Ex [E Lx]]. symmetry in E. apply split_seq_map in E.
  destruct E as [Ey [Ez Ly]].
  set (P := fun e => reduces (axis e)). set (f := fun l => filter P (column l)).
  exists (map f (seq 0 (length x))), (map f (seq (0 + length x) (length y))),
         (map f (seq (0 + length x + length y) (levels - length x - length y))).
  assert (G : forall a n V, (forall e, has V e = true -> has (vary st) e = true \/ has (pin st) e = true) ->
    covers V (map column (seq a n)) -> covers V (map f (seq a n))).
  { intros a n V HR G e. rewrite (G e).
    assert (Q : In e (concat (map f (seq a n))) <-> In e (concat (map column (seq a n))) /\ P e = true).
    { rewrite !in_concat. split.
      - intros [c [Hc' He]]. apply in_map_iff in Hc'. destruct Hc' as [l [<- Hl]]. apply filter_In in He.
        destruct He as [He HP]. split; auto. exists (column l). split; auto. apply in_map. auto.
      - intros [[c [Hc' He]] HP]. apply in_map_iff in Hc'. destruct Hc' as [l [<- Hl]].
        exists (f l). split; [apply in_map; auto|]. apply filter_In. auto. }
    rewrite Q. split; [|tauto]. intros [B I]. split; [auto|split; [auto|]].
    apply reduced_axis, (digits_reduced p st e); auto. apply HR, G. auto. }
  split; [|split].
  - unfold collapsed. fold P. change (fun l => filter P (column l)) with f. rewrite <- !map_app. f_equal.
    rewrite <- !seq_app. f_equal. lia.
  - apply G; [auto|]. rewrite <- Ey. auto.
  - destruct HZ as [|HZ]; auto. right. apply G; [auto|]. rewrite Ez in HZ. exact HZ.
Qed.

Theorem lattice_expresses_all p : correct_program p -> program_over_lattice p.
Proof.
  intros Hc. unfold program_over_lattice. rewrite Forall_forall. intros st Hi. split.
  - intros e He. apply (digits_reduced p st e) in He; auto. apply reduction_spec in He. tauto.
  - destruct Hc as [Hp _]. rewrite Forall_forall in Hp. destruct (Hp st Hi) as [_ [_ [_ [A _]]]]. auto.
Qed.

(* One reduction axis. *)
Theorem d_expresses_b a0 : one_axis a0 -> expresses hierarchy_d hierarchy_b.
Proof.
  intros Ho. unfold hierarchy_d, hierarchy_b. rewrite (d_of_b a0 Ho). apply expresses_filter, reduced_axis.
Qed.

Theorem d_expresses_a a0 : one_axis a0 -> expresses hierarchy_d hierarchy_a.
Proof. intros Ho p Hc Hp. apply (d_expresses_b a0 Ho); auto. apply b_expresses_a; auto. Qed.

(* One reduction axis whose row stands last. *)
Theorem c_expresses_d : one_axis (axes - 1) -> expresses hierarchy_c hierarchy_d.
Proof.
  intros Ho p _ Hp. unfold program_over in *. eapply Forall_impl; [|exact Hp]. intros st G.
  unfold hierarchy_c, hierarchy_d in *. rewrite (filter_one _ Ho) in G.
  replace axes with ((axes - 1) + 1) at 1 by lia. rewrite seq_app, flat_map_app. unfold singles.
  rewrite map_app. apply over_prefix. exact G.
Qed.

Theorem c_expresses_a_b : one_axis (axes - 1) ->
  expresses hierarchy_c hierarchy_a /\ expresses hierarchy_c hierarchy_b.
Proof.
  intros Ho. split; intros p Hc Hp; apply (c_expresses_d Ho); auto.
  - apply (d_expresses_a _ Ho); auto.
  - apply (d_expresses_b _ Ho); auto.
Qed.

End System.
