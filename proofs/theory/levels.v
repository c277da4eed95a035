(* T8, counts for every number of levels: a program over (d) is one over the levels that its cuts
   leave, so the numbers for all levels follow from the programs that use every cut. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights
  machine equivalence sizes hierarchies choices counts.
Import ListNotations.

Definition ivl (a b : nat) (V : N) : Prop := forall e, has V e = true <-> a <= e < b.
Definition d_step (l : nat) (st : step) : Prop :=
  exists a b, a < b <= l /\ ivl a b (vary st) /\
    (pin st = 0%N \/ (b < l /\ ivl b l (pin st) /\ what st = AllReduce)).

Lemma hierarchy_d_one l : hierarchy_d 1 (repeat 2 l) one = singles (seq 0 l).
Proof.
  unfold hierarchy_d. f_equal. cbn [seq filter one flat_map]. rewrite app_nil_r. unfold row.
  rewrite repeat_length. generalize (seq 0 l). induction l0 as [|e s IH]; auto. cbn [filter].
  replace (axis 1 e =? 0) with true by (unfold axis; rewrite Nat.mod_1_r; auto). f_equal. auto.
Qed.

Lemma big_repeat l e : big (repeat 2 l) e <-> e < l.
Proof.
  unfold big, size. split.
  - intros B. destruct (Nat.lt_ge_cases e l); auto. rewrite nth_overflow in B by (rewrite repeat_length; auto). lia.
  - intros He. assert (Q : In (nth e (repeat 2 l) 1) (repeat 2 l)) by (apply nth_In; rewrite repeat_length; auto).
    apply repeat_spec in Q. lia.
Qed.

Lemma covers_seq l V a n : a + n <= l -> (covers (repeat 2 l) V (singles (seq a n)) <-> ivl a (a + n) V).
Proof.
  intros L. unfold covers, ivl.
  assert (Q : forall e, big (repeat 2 l) e /\ In e (concat (singles (seq a n))) <-> a <= e < a + n).
  { intros e. rewrite big_repeat, (in_singles 1 one), in_seq. split; [tauto|]. intros I. split; [lia|auto]. }
  split; intros G e; rewrite (G e), Q || rewrite (G e), <- Q; tauto.
Qed.

Lemma instructions_d_spec l st : In st (instructions_d l) <-> d_step l st.
Proof.
  unfold instructions_d. rewrite nodup_In, choices_spec, hierarchy_d_one. split.
  - intros [[x [y [z [E [HV HZ]]]]] [NV [_ [_ [A G]]]]].
    unfold singles in E. apply map_eq_app in E. destruct E as [lx [l' [E1 [Ex E]]]].
    apply map_eq_app in E. destruct E as [ly [lz [E2 [Ey Ez]]]]. subst l'.
    assert (L : length lx + (length ly + length lz) = l)
      by (rewrite <- !app_length, <- E1, seq_length; auto).
    assert (S3 : seq 0 l = seq 0 (length lx) ++ seq (length lx) (length ly) ++ seq (length lx + length ly) (length lz)).
    { rewrite <- L, !seq_app. auto. }
    rewrite S3 in E1. apply app_split in E1; [|rewrite seq_length; auto]. destruct E1 as [F1 E1].
    apply app_split in E1; [|rewrite seq_length; auto]. destruct E1 as [F2 F3].
    exists (length lx), (length lx + length ly).
    assert (I1 : ivl (length lx) (length lx + length ly) (vary st)).
    { apply (covers_seq l); [lia|]. unfold singles. rewrite F2, Ey. auto. }
    assert (ly <> []).
    { intros ->. apply NV. apply zero_spec. intros e. destruct (has_cases (vary st) e) as [Q|]; auto.
      apply I1 in Q. simpl in Q. lia. }
    split; [destruct ly; [congruence|simpl in *; lia]|split; [auto|]].
    destruct (N.eq_dec (pin st) 0) as [|NZ]; auto. right. destruct HZ as [|HZ]; [contradiction|].
    assert (I2 : ivl (length lx + length ly) (length lx + length ly + length lz) (pin st)).
    { apply (covers_seq l); [lia|]. unfold singles. rewrite F3, Ez. auto. }
    assert (lz <> []).
    { intros ->. apply NZ. apply zero_spec. intros e. destruct (has_cases (pin st) e) as [Q|]; auto.
      apply I2 in Q. simpl in Q. lia. }
    split; [destruct lz; [congruence|simpl in *; lia]|]. split; auto.
    replace l with (length lx + length ly + length lz) by lia. auto.
  - intros [a [b [Hab [HV HZ]]]]. split.
    + exists (singles (seq 0 a)), (singles (seq a (b - a))), (singles (seq b (l - b))). split; [|split].
      * unfold singles. rewrite <- !map_app. f_equal.
        replace l with (a + ((b - a) + (l - b))) at 1 by lia. rewrite !seq_app. simpl.
        replace (a + (b - a)) with b by lia. auto.
      * apply covers_seq; [lia|]. replace (a + (b - a)) with b by lia. auto.
      * destruct HZ as [|[Hb [HZ _]]]; auto. right. apply covers_seq; [lia|].
        replace (b + (l - b)) with l by lia. auto.
    + split; [|split; [|split; [|split]]].
      * apply nonzero_spec. exists a. apply HV. lia.
      * intros e He. apply HV in He. apply big_repeat. lia.
      * intros e He. destruct HZ as [Z0|[Hb [HZ _]]]; [rewrite Z0, has_zero in He; discriminate|].
        apply HZ in He. apply big_repeat. lia.
      * apply apart_spec. intros e He. apply HV in He. destruct (has_cases (pin st) e) as [Q|]; auto.
        destruct HZ as [Z0|[Hb [HZ _]]]; [rewrite Z0, has_zero in Q; discriminate|]. apply HZ in Q. lia.
      * intros NZ. destruct HZ as [|[_ [_ W]]]; [contradiction|auto].
Qed.

(* ---- blocks of digits ---- *)

Section Blocks.
Variables (l l' : nat) (block first : nat -> nat).
Hypothesis block_lt : forall e, e < l -> block e < l'.
Hypothesis first_lt : forall i, i < l' -> first i < l.
Hypothesis block_first : forall i, i < l' -> block (first i) = i.

Definition blow (V : N) : N :=
  mask_of (filter (fun e => has V (block e)) (seq 0 l)).

Lemma has_blow V e : has (blow V) e = (e <? l) && has V (block e).
Proof.
  apply eq_true_iff_eq. unfold blow. rewrite has_mask_of, filter_In, in_seq, andb_true_iff, Nat.ltb_lt.
  split; intros [A B]; split; auto; lia.
Qed.

Definition inside (V : N) : Prop := forall e, has V e = true -> e < l'.

Lemma blow_lor V W : blow (N.lor V W) = N.lor (blow V) (blow W).
Proof. apply has_ext. intros e. rewrite has_or, !has_blow, has_or. destruct (e <? l); auto. Qed.
Lemma blow_ldiff V W : blow (N.ldiff V W) = N.ldiff (blow V) (blow W).
Proof. apply has_ext. intros e. rewrite has_diff, !has_blow, has_diff. destruct (e <? l); auto. Qed.
Lemma blow_land V W : blow (N.land V W) = N.land (blow V) (blow W).
Proof.
  apply has_ext. intros e. rewrite has_and, !has_blow, has_and. destruct (e <? l), (has V (block e)); auto.
Qed.
Lemma blow_zero : blow 0 = 0%N.
Proof. apply zero_spec. intros e. rewrite has_blow, has_zero. apply andb_false_r. Qed.

Lemma blow_inj V W : inside V -> inside W -> blow V = blow W -> V = W.
Proof.
  intros IV IW E. apply has_ext. intros i. destruct (Nat.lt_ge_cases i l') as [Hi|Hi].
  - assert (F : has (blow V) (first i) = has (blow W) (first i)) by congruence.
    rewrite !has_blow, block_first in F by auto.
    rewrite (proj2 (Nat.ltb_lt _ _) (first_lt i Hi)) in F. auto.
  - destruct (has_cases V i) as [Q|Q]; [apply IV in Q; lia|]. destruct (has_cases W i) as [Q'|Q']; [apply IW in Q'; lia|].
    congruence.
Qed.

Lemma inside_zero : inside 0.
Proof. intros e He. rewrite has_zero in He. discriminate. Qed.
Lemma inside_lor V W : inside V -> inside W -> inside (N.lor V W).
Proof. intros A B e He. apply or_cases in He. destruct He; auto. Qed.
Lemma inside_ldiff V W : inside V -> inside (N.ldiff V W).
Proof. intros A e He. apply diff_true in He. apply A. tauto. Qed.
Lemma inside_land V W : inside V -> inside (N.land V W).
Proof. intros A e He. rewrite has_and in He. apply andb_true_iff in He. apply A. tauto. Qed.

Lemma eqb_blow V W : inside V -> inside W -> N.eqb (blow V) (blow W) = N.eqb V W.
Proof.
  intros A B. apply eq_true_iff_eq. rewrite !N.eqb_eq. split; [apply blow_inj; auto|congruence].
Qed.
Lemma is_zero_blow V : inside V -> is_zero (blow V) = is_zero V.
Proof. intros A. unfold is_zero. rewrite <- blow_zero at 1. apply eqb_blow; auto using inside_zero. Qed.
Lemma subset_blow V W : inside V -> subset (blow V) (blow W) = subset V W.
Proof. intros A. unfold subset. rewrite <- blow_ldiff. apply is_zero_blow. apply inside_ldiff, A. Qed.
Lemma apart_blow V W : inside V -> apart (blow V) (blow W) = apart V W.
Proof. intros A. unfold apart. rewrite <- blow_land. apply is_zero_blow. apply inside_land, A. Qed.

Definition blow_pair (wy : N * N) : N * N := (blow (fst wy), blow (snd wy)).
Definition blow_state (m : mstate) : mstate := MState (blow (mS m)) (blow (mR m)) (blow (mB m)) (map blow_pair (mP m)).
Definition blow_step (st : step) : step := Step (blow (vary st)) (blow (pin st)) (what st).

Definition inside_pairs (p : list (N * N)) : Prop := forall W Y, In (W, Y) p -> inside W /\ inside Y.
Definition inside_state (m : mstate) : Prop := inside (mS m) /\ inside (mR m) /\ inside (mB m) /\ inside_pairs (mP m).
Definition inside_step (st : step) : Prop := inside (vary st) /\ inside (pin st).

Lemma union_blow p : union_of (map blow_pair p) = blow (union_of p).
Proof.
  induction p as [|[W Y] p IH]; cbn [map union_of fold_right fst blow_pair]; [symmetry; apply blow_zero|].
  fold (union_of p). fold (union_of (map blow_pair p)). rewrite IH, blow_lor. auto.
Qed.
Lemma inside_union p : inside_pairs p -> inside (union_of p).
Proof. intros A e He. apply union_spec in He. destruct He as [W [Y [Hi He]]]. destruct (A W Y Hi) as [IW _]. apply IW, He. Qed.

Lemma mT_blow m : mT (blow_state m) = blow (mT m).
Proof. unfold mT, blow_state. cbn [mB mP]. rewrite union_blow, blow_lor. auto. Qed.
Lemma inside_mT m : inside_state m -> inside (mT m).
Proof. intros [_ [_ [A B]]]. apply inside_lor; auto. apply inside_union; auto. Qed.

Lemma active_blow V p : inside_pairs p -> active (blow V) (map blow_pair p) = map blow_pair (active V p).
Proof.
  unfold active. induction p as [|[W Y] p IH]; intros A; auto. cbn [map filter blow_pair snd fst].
  rewrite subset_blow by (apply (A W Y); left; auto).
  rewrite IH by (intros W' Y' Hi; apply A; right; auto). destruct (subset Y V); auto.
Qed.
Lemma waiting_blow V p : inside_pairs p -> waiting (blow V) (map blow_pair p) = map blow_pair (waiting V p).
Proof.
  unfold waiting. induction p as [|[W Y] p IH]; intros A; auto. cbn [map filter blow_pair snd fst].
  rewrite subset_blow by (apply (A W Y); left; auto).
  specialize (IH (fun W' Y' Hi => A W' Y' (or_intror Hi))).
  destruct (subset Y V); cbn [negb]; auto. cbn [map fst snd blow_pair]. rewrite IH, <- blow_ldiff. auto.
Qed.
Lemma none_blow V p : inside_pairs p ->
  forallb (fun wy => negb (subset (snd wy) (blow V))) (map blow_pair p) = forallb (fun wy => negb (subset (snd wy) V)) p.
Proof.
  induction p as [|[W Y] p IH]; intros A; auto. cbn [map forallb blow_pair snd fst].
  rewrite subset_blow by (apply (A W Y); left; auto). f_equal. apply IH. intros W' Y' Hi. apply A. right. auto.
Qed.

Lemma mstep_blow st m : inside_step st -> inside_state m ->
  mstep (blow_step st) (blow_state m) = option_map blow_state (mstep st m).
Proof.
  intros [IV IZ] Im. pose proof (inside_mT m Im) as IT. destruct Im as [IS [IR [IB IP]]].
  unfold mstep. rewrite mT_blow. unfold blow_step, blow_state. cbn [vary pin what mS mR mB mP].
  destruct (what st).
  - rewrite !apart_blow, !subset_blow, eqb_blow by auto. destruct (_ && _); auto. cbn [option_map].
    destruct (N.eqb (mR m) (pin st)); cbn [mS mR mB mP map blow_pair fst snd]; rewrite ?blow_lor; auto.
  - rewrite apart_blow, is_zero_blow by auto. destruct (_ && _); auto. cbn [option_map mS mR mB mP].
    rewrite !blow_lor. auto.
  - rewrite is_zero_blow, subset_blow by auto. destruct (_ && _); auto. cbn [option_map mS mR mB mP].
    rewrite blow_ldiff. auto.
  - rewrite apart_blow, is_zero_blow by auto. destruct (_ && _); auto. cbn [option_map mS mR mB mP].
    rewrite blow_lor. auto.
  - rewrite active_blow, union_blow, <- blow_lor, <- blow_ldiff, !subset_blow, apart_blow, is_zero_blow, none_blow, waiting_blow
      by auto using inside_ldiff.
    destruct (_ && _); auto. cbn [option_map mS mR mB mP]. rewrite blow_zero. auto.
Qed.

Lemma inside_mstep st m m' : inside_step st -> inside_state m -> mstep st m = Some m' -> inside_state m'.
Proof.
  intros [IV IZ] [IS [IR [IB IP]]] E. unfold mstep in E.
  destruct (what st); (destruct (_ && _) in E; [|discriminate]); injection E as <-; unfold inside_state.
  - destruct (N.eqb (mR m) (pin st)); cbn [mS mR mB mP].
    + auto using inside_lor.
    + split; [auto|split; [auto|split; [auto|]]]. intros W Y [Q|Hi]; [injection Q as <- <-; auto|apply (IP W Y Hi)].
  - cbn [mS mR mB mP]; auto using inside_lor.
  - cbn [mS mR mB mP]; auto using inside_ldiff.
  - cbn [mS mR mB mP]; auto using inside_lor.
  - cbn [mS mR mB mP]. split; [auto|split; [apply inside_zero|split]].
    + apply inside_lor; auto. apply inside_union. intros W Y Hi. apply in_active in Hi. apply (IP W Y). tauto.
    + intros W Y Hi. apply in_waiting in Hi. destruct Hi as [Y' [Hi [_ ->]]]. destruct (IP W Y' Hi).
      split; auto using inside_ldiff.
Qed.

Lemma mrun_blow p m : Forall inside_step p -> inside_state m ->
  mrun (map blow_step p) (blow_state m) = option_map blow_state (mrun p m).
Proof.
  revert m. induction p as [|st p IH]; intros m Hp Im; auto. cbn [map mrun].
  rewrite mstep_blow by (auto; apply (Forall_inv Hp)). destruct (mstep st m) as [m'|] eqn:E; auto. cbn [option_map].
  apply IH; [apply (Forall_inv_tail Hp)|]. apply (inside_mstep st m); auto. apply (Forall_inv Hp).
Qed.

Lemma inside_mrun p m m' : Forall inside_step p -> inside_state m -> mrun p m = Some m' -> inside_state m'.
Proof.
  revert m. induction p as [|st p IH]; intros m Hp Im E; cbn [mrun] in E; [congruence|].
  destruct (mstep st m) as [m1|] eqn:F; [|discriminate]. apply (IH m1); auto; [apply (Forall_inv_tail Hp)|].
  apply (inside_mstep st m); auto. apply (Forall_inv Hp).
Qed.

Lemma accepting_blow red m : inside red -> inside_state m -> accepting (blow red) (blow_state m) = accepting red m.
Proof.
  intros Ir [IS [IR [IB IP]]]. unfold accepting, blow_state. cbn [mS mR mB mP].
  rewrite !is_zero_blow, eqb_blow by auto. destruct (mP m); auto.
Qed.

Lemma accepts_blow red p : inside red -> Forall inside_step p ->
  accepts (blow red) (map blow_step p) = accepts red p.
Proof.
  intros Ir Hp. unfold accepts.
  assert (Is : inside_state mstart) by (repeat split; try apply inside_zero; destruct H).
  replace mstart with (blow_state mstart) at 1 by (unfold blow_state; cbn; rewrite blow_zero; auto).
  rewrite mrun_blow by auto. destruct (mrun p mstart) as [m|] eqn:E; auto. cbn [option_map].
  apply accepting_blow; auto. apply (inside_mrun p mstart); auto.
Qed.

End Blocks.

(* ---- the levels that the cuts leave ---- *)

Fixpoint ascending (a : nat) (C : list nat) : Prop :=
  match C with [] => True | c :: C' => a <= c /\ ascending (S c) C' end.

Lemma ascending_weaken a b C : b <= a -> ascending a C -> ascending b C.
Proof. destruct C; simpl; auto. intros H [A B]. split; [lia|auto]. Qed.

Lemma ascending_ge a C x : ascending a C -> In x C -> a <= x.
Proof.
  revert a. induction C as [|c C IH]; intros a A Hx; simpl in *; [tauto|]. destruct A as [A B].
  destruct Hx as [->|Hx]; auto. apply (IH (S c)) in Hx; auto. lia.
Qed.

Definition block_of (C : list nat) (e : nat) : nat := length (filter (fun c => c <=? e) C).
Definition first_of (C : list nat) (i : nat) : nat := nth i (0 :: C) 0.

Lemma block_zero a C e : ascending a C -> e < a -> block_of C e = 0.
Proof.
  intros A L. unfold block_of. assert (G : forall x, In x C -> a <= x) by (intros; apply (ascending_ge a C); auto).
  clear A. induction C as [|c C IH]; simpl; auto.
  destruct (Nat.leb_spec c e); [specialize (G c (or_introl eq_refl)); lia|]. apply IH. intros; apply G; right; auto.
Qed.

Lemma block_nth a C i e : ascending a C -> i < length C -> (S i <= block_of C e <-> nth i C 0 <= e).
Proof.
  revert a i. induction C as [|c C IH]; intros a i A Hi; simpl in Hi; [lia|]. destruct A as [A B].
  assert (E : block_of (c :: C) e = (if c <=? e then 1 else 0) + block_of C e).
  { unfold block_of. simpl. destruct (c <=? e); auto. }
  rewrite E. destruct (Nat.leb_spec c e).
  - destruct i as [|i]; simpl nth; [lia|]. rewrite <- (IH (S c) i) by (auto; lia). lia.
  - rewrite (block_zero (S c) C e) by (auto; lia). split; [lia|]. intros F.
    assert (c <= nth i (c :: C) 0); [|lia].
    destruct i as [|i]; simpl nth; [lia|]. 
    assert (S c <= nth i C 0); [|lia]. apply (ascending_ge (S c) C); auto. apply nth_In. lia.
Qed.

Section Cuts.
Variables (l : nat) (C : list nat).
Hypothesis levels_pos : 0 < l.
Hypothesis asc : ascending 1 C.
Hypothesis below : forall c, In c C -> c < l.
Let l' := S (length C).
Notation block := (block_of C).
Notation first := (first_of C).
Notation blow := (blow l block).
Notation blow_step := (blow_step l block).

Lemma block_le i e : i < l' -> (i <= block e <-> first i <= e).
Proof.
  intros Hi. unfold l' in Hi. destruct i as [|i]; [unfold first_of; simpl; split; lia|].
  unfold first_of. cbn [nth]. apply (block_nth 1); auto. lia.
Qed.

Lemma block_bound e : block e < l'.
Proof.
  unfold block_of, l'. assert (G : forall s : list nat, length (filter (fun c => c <=? e) s) <= length s).
  { induction s as [|x s IH]; simpl; auto. destruct (x <=? e); simpl; lia. }
  specialize (G C). lia.
Qed.

Lemma first_bound i : i < l' -> first i < l.
Proof.
  intros Hi. unfold l' in Hi. destruct i as [|i]; unfold first_of; cbn [nth]; auto.
  apply below, nth_In. lia.
Qed.

Lemma first_pos i : 0 < i -> i < l' -> 1 <= first i /\ In (first i) C.
Proof.
  intros Hp Hi. unfold l' in Hi. destruct i as [|i]; [lia|]. unfold first_of. cbn [nth].
  assert (I : In (nth i C 0) C) by (apply nth_In; lia). split; auto. apply (ascending_ge 1 C); auto.
Qed.

Lemma first_increases i : S i < l' -> first i < first (S i).
Proof.
  intros Hi. destruct (Nat.lt_ge_cases (first i) (first (S i))) as [|G]; auto. exfalso.
  assert (Q : forall n a K, ascending a K -> S n < length K -> nth n K 0 < nth (S n) K 0).
  { induction n as [|n IH]; intros a [|x K] A Hn; simpl in Hn; try lia; destruct A as [A B].
    - destruct K as [|y K]; simpl in *; [lia|]. lia.
    - apply (IH (S x) K B). lia. }
  unfold l' in Hi. destruct i as [|i].
  - pose proof (first_pos 1). unfold l' in *. unfold first_of in *. cbn [nth] in *. lia.
  - specialize (Q i 1 C asc). unfold first_of in G. cbn [nth] in *. lia.
Qed.

Lemma block_first i : i < l' -> block (first i) = i.
Proof.
  intros Hi. assert (A : i <= block (first i)) by (apply block_le; auto).
  destruct (Nat.eq_dec (block (first i)) i); auto. exfalso.
  assert (B : S i < l') by (pose proof (block_bound (first i)); lia).
  assert (S i <= block (first i)) by lia. apply block_le in H; auto.
  pose proof (first_increases i B). lia.
Qed.

Definition stop (b : nat) : nat := if b =? l' then l else first b.

Lemma ivl_blow a b V : a < b <= l' -> ivl a b V -> ivl (first a) (stop b) (blow V).
Proof.
  intros Hab I e. rewrite has_blow, andb_true_iff, Nat.ltb_lt, (I (block e)).
  rewrite block_le by lia. unfold stop. destruct (Nat.eqb_spec b l') as [->|Ne].
  - pose proof (block_bound e). split; intros; lia.
  - assert (Q : block e < b <-> e < first b).
    { pose proof (block_le b e). split; intros; lia. }
    rewrite Q. pose proof (first_bound b). split; intros; lia.
Qed.

Lemma ivl_unique a b V W : ivl a b V -> ivl a b W -> V = W.
Proof. intros A B. apply has_ext. intros e. apply eq_true_iff_eq. rewrite (A e), (B e). tauto. Qed.

Lemma stop_l : stop l' = l.
Proof. unfold stop. rewrite Nat.eqb_refl. auto. Qed.
Lemma stop_lt b : b < l' -> stop b = first b.
Proof. intros Hb. unfold stop. destruct (Nat.eqb_spec b l'); [lia|auto]. Qed.

Lemma first_mono a b : a < b -> b < l' -> first a < first b.
Proof.
  intros L Hb. induction L; [apply first_increases; auto|]. 
  assert (first m < first (S m)) by (apply first_increases; auto). assert (first a < first m) by (apply IHL; lia). lia.
Qed.

Lemma first_stop a b : a < b <= l' -> first a < stop b <= l.
Proof.
  intros [L Hb]. destruct (Nat.eq_dec b l') as [->|].
  - rewrite stop_l. pose proof (first_bound a L). lia.
  - rewrite stop_lt by lia. pose proof (first_mono a b L). pose proof (first_bound b). lia.
Qed.

Lemma d_step_blow st : d_step l' st -> d_step l (blow_step st).
Proof.
  intros [a [b [Hab [HV HZ]]]]. exists (first a), (stop b). cbn [vary pin what blow_step].
  split; [apply first_stop; auto|split; [apply ivl_blow; auto|]].
  destruct HZ as [->|[Hb [HZ W]]]; [left; apply blow_zero|right].
  split; [rewrite stop_lt by auto; apply first_bound; auto|split; auto].
  rewrite (stop_lt b Hb). pose proof (ivl_blow b l' (pin st) ltac:(lia) HZ) as Q. rewrite stop_l in Q. exact Q.
Qed.

Lemma d_step_inside st : d_step l' st -> inside_step l' st.
Proof.
  intros [a [b [Hab [HV HZ]]]]. split.
  - intros e He. apply HV in He. lia.
  - intros e He. destruct HZ as [Z0|[Hb [HZ _]]]; [rewrite Z0, has_zero in He; discriminate|]. apply HZ in He. lia.
Qed.

Definition cut (st : step) (c : nat) : bool := xorb (has (vary st) (c - 1)) (has (vary st) c).
Definition cuts_at (p : list step) (c : nat) : bool := existsb (fun st => cut st c) p.

Lemma cut_ends a b st c : ivl a b (vary st) -> a < b -> 0 < c -> (c = a \/ c = b) -> cut st c = true.
Proof.
  intros I L Hc E. unfold cut. destruct (has_cases (vary st) (c - 1)) as [A|A], (has_cases (vary st) c) as [B|B];
    rewrite A, B; auto; exfalso.
  - apply I in A, B. lia.
  - destruct E as [->| ->].
    + assert (has (vary st) a = true) by (apply I; lia). congruence.
    + assert (has (vary st) (b - 1) = true) by (apply I; lia). congruence.
Qed.

Definition imask (a b : nat) : N := mask_of (seq a (b - a)).
Lemma imask_ivl a b : a <= b -> ivl a b (imask a b).
Proof.
  intros L e. unfold imask. rewrite has_mask_of, in_seq. split; lia.
Qed.

Lemma index_of c : In c C -> exists i, 0 < i < l' /\ first i = c.
Proof.
  intros Hc. apply (In_nth _ _ 0) in Hc. destruct Hc as [i [Hi E]]. exists (S i). unfold l'. split; [lia|]. exact E.
Qed.

Lemma d_step_back st : d_step l st -> (forall c, 0 < c < l -> cut st c = true -> In c C) ->
  exists st', d_step l' st' /\ st = blow_step st'.
Proof.
  intros [a [b [Hab [HV HZ]]]] HC.
  assert (Ea : exists a', a' < l' /\ first a' = a).
  { destruct (Nat.eq_dec a 0) as [->|Na].
    - exists 0. unfold l', first_of. split; [lia|auto].
    - destruct (index_of a) as [i [Hi E]]; [|exists i; split; [lia|auto]].
      apply HC; [lia|]. apply (cut_ends a b); auto; lia. }
  assert (Eb : exists b', b' <= l' /\ stop b' = b).
  { destruct (Nat.eq_dec b l) as [->|Nb].
    - exists l'. split; [lia|]. apply stop_l.
    - destruct (index_of b) as [i [Hi E]].
      + apply HC; [lia|]. apply (cut_ends a b); auto; lia.
      + exists i. split; [lia|]. rewrite stop_lt by lia. auto. }
  destruct Ea as [a' [Ha' Ea]], Eb as [b' [Hb' Eb]].
  assert (L : a' < b').
  { destruct (Nat.lt_ge_cases a' b') as [|G]; auto. exfalso. rewrite stop_lt in Eb by lia.
    destruct (Nat.eq_dec a' b') as [->|]; [lia|]. pose proof (first_mono b' a'). lia. }
  assert (Bl : b < l -> b' < l').
  { intros Q. destruct (Nat.eq_dec b' l') as [->|]; [rewrite stop_l in Eb; lia|lia]. }
  set (Z' := if N.eqb (pin st) 0 then 0%N else imask b' l').
  exists (Step (imask a' b') Z' (what st)). split.
  - exists a', b'. cbn [vary pin what]. split; [lia|split; [apply imask_ivl; lia|]]. unfold Z'.
    destruct (N.eqb_spec (pin st) 0) as [|NZ]; auto. right. destruct HZ as [|[Hb [HZ W]]]; [contradiction|].
    split; auto. split; auto. apply imask_ivl. lia.
  - destruct st as [V Z w]. unfold levels.blow_step, blow_step. cbn [vary pin what] in *. f_equal.
    + apply (ivl_unique a b); auto. rewrite <- Ea, <- Eb. apply ivl_blow; [lia|]. apply imask_ivl. lia.
    + unfold Z'. destruct (N.eqb_spec Z 0) as [->|NZ]; [symmetry; apply blow_zero|].
      destruct HZ as [|[Hb [HZ W]]]; [contradiction|]. apply (ivl_unique b l); auto.
      pose proof (Bl Hb). rewrite <- Eb, (stop_lt b' (Bl Hb)).
      pose proof (ivl_blow b' l' (imask b' l') ltac:(lia) ltac:(apply imask_ivl; lia)) as Q. rewrite stop_l in Q. exact Q.
Qed.

(* A program cuts where its blow-up does. *)
Lemma cut_blow_in st i : 0 < i < l' -> cut (blow_step st) (first i) = cut st i.
Proof.
  intros Hi. unfold cut. cbn [vary blow_step]. rewrite !has_blow.
  pose proof (first_bound i ltac:(lia)) as B. destruct (first_pos i ltac:(lia) ltac:(lia)) as [P _].
  rewrite !(proj2 (Nat.ltb_lt _ _)) by lia. cbn [andb]. rewrite block_first by lia.
  replace (block (first i - 1)) with (i - 1); auto.
  pose proof (block_le (i - 1) (first i - 1) ltac:(lia)) as Q1. pose proof (block_le i (first i - 1) ltac:(lia)) as Q2.
  assert (first (i - 1) < first i) by (apply first_mono; lia). lia.
Qed.

Lemma cut_blow_out st c : 0 < c < l -> ~ In c C -> cut (blow_step st) c = false.
Proof.
  intros Hc Hn. unfold cut. cbn [vary blow_step]. rewrite !has_blow.
  rewrite !(proj2 (Nat.ltb_lt _ _)) by lia. cbn [andb].
  replace (block (c - 1)) with (block c); [apply xorb_nilpotent|].
  unfold block_of. f_equal. clear - Hn Hc. induction C as [|x K IH]; auto. cbn [filter].
  rewrite IH by (intros Q; apply Hn; right; auto).
  replace (x <=? c - 1) with (x <=? c); auto. assert (x <> c) by (intros ->; apply Hn; left; auto).
  destruct (Nat.leb_spec x c), (Nat.leb_spec x (c - 1)); auto; lia.
Qed.

End Cuts.

(* ---- counting ---- *)

Definition red_d (l : nat) : N := reduction 1 (repeat 2 l) one.
Lemma red_d_ivl l : ivl 0 l (red_d l).
Proof.
  intros e. unfold red_d. rewrite reduction_spec, repeat_length, big_repeat. unfold one. split; [lia|].
  intros. repeat split; auto; lia.
Qed.

Lemma list_d_spec l n p : In p (list_d l n) <->
  length p <= n /\ Forall (d_step l) p /\ accepts (red_d l) p = true.
Proof.
  unfold list_d, programs_of. rewrite programs_from_spec. fold (red_d l). unfold accepts.
  assert (F : Forall (fun st => In st (instructions_d l)) p <-> Forall (d_step l) p).
  { split; intros G; (eapply Forall_impl; [|exact G]); intros st; apply instructions_d_spec. }
  rewrite F. destruct (mrun p mstart); [tauto|]. split; [tauto|]. intros [_ [_ Q]]. discriminate.
Qed.

(* The valid programs over l levels that cut between any two of them. *)
Definition all_cut (l : nat) (p : list step) : bool := forallb (cuts_at p) (seq 1 (l - 1)).
Definition full (l n : nat) : list (list step) := filter (all_cut l) (list_d l n).
Definition cut_set (l : nat) (p : list step) : list nat := filter (cuts_at p) (seq 1 (l - 1)).
Definition same_list (x y : list nat) : bool := if list_eq_dec Nat.eq_dec x y then true else false.

Fixpoint sublists (s : list nat) : list (list nat) :=
  match s with [] => [[]] | x :: s' => map (cons x) (sublists s') ++ sublists s' end.

Lemma filter_sublist f s : In (filter f s) (sublists s).
Proof.
  induction s as [|x s IH]; simpl; auto. apply in_or_app. destruct (f x); [left; apply in_map|right]; auto.
Qed.

Lemma sublist_in s C x : In C (sublists s) -> In x C -> In x s.
Proof.
  revert C. induction s as [|y s IH]; intros C HC Hx; simpl in *.
  - destruct HC as [<-|[]]. auto.
  - apply in_app_iff in HC. destruct HC as [HC|HC]; [|right; eauto].
    apply in_map_iff in HC. destruct HC as [K [<- HK]]. destruct Hx as [|Hx]; [left; auto|right; eauto].
Qed.

Lemma sublist_filter s C : NoDup s -> In C (sublists s) -> filter (fun x => is_member x C) s = C.
Proof.
  revert C. induction s as [|y s IH]; intros C Hn HC; simpl in *.
  - destruct HC as [<-|[]]. auto.
  - inversion Hn; subst. apply in_app_iff in HC. destruct HC as [HC|HC].
    + apply in_map_iff in HC. destruct HC as [K [<- HK]]. unfold is_member at 1. cbn [existsb].
      rewrite Nat.eqb_refl. cbn [orb]. f_equal. transitivity (filter (fun x => is_member x K) s); [|auto]. apply filter_ext_in.
      intros x Hx. unfold is_member. cbn [existsb]. destruct (Nat.eqb_spec x y) as [->|]; auto. tauto.
    + destruct (is_member y C) eqn:E; auto. apply is_member_spec in E. apply (sublist_in s) in E; auto. tauto.
Qed.

Lemma sublists_NoDup s : NoDup s -> NoDup (sublists s).
Proof.
  induction 1 as [|y s Hy Hn IH]; cbn [sublists]; [repeat constructor; intros []|].
  apply NoDup_append; auto.
  - apply NoDup_map_on; auto. intros x z _ _ E. injection E. auto.
  - intros b Hb Hb'. apply in_map_iff in Hb. destruct Hb as [K [<- _]]. apply Hy.
    apply (sublist_in s (y :: K)); auto. left. auto.
Qed.

Lemma sublists_ascending a n C : In C (sublists (seq a n)) -> ascending a C.
Proof.
  revert a C. induction n as [|n IH]; intros a C HC; simpl in HC.
  - destruct HC as [<-|[]]. simpl. auto.
  - apply in_app_iff in HC. destruct HC as [HC|HC].
    + apply in_map_iff in HC. destruct HC as [K [<- HK]]. simpl. auto.
    + apply (ascending_weaken (S a)); auto.
Qed.

Lemma Forall_choose {A B} (P : A -> B -> Prop) s : Forall (fun a => exists b, P a b) s ->
  exists t, Forall2 P s t.
Proof. induction 1 as [|a s [b Hb] _ [t Ht]]; [exists []|exists (b :: t)]; auto. Qed.

Section OneSet.
Variables (l n : nat) (C : list nat).
Hypothesis levels_pos : 0 < l.
Hypothesis HC : In C (sublists (seq 1 (l - 1))).
Let l' := S (length C).
Notation blow_p := (map (blow_step l (block_of C))).

Lemma C_asc : ascending 1 C.
Proof. apply (sublists_ascending 1 (l - 1)), HC. Qed.
Lemma C_below c : In c C -> c < l.
Proof. intros Hc. apply (sublist_in _ _ _ HC) in Hc. apply in_seq in Hc. lia. Qed.

Lemma blow_red : blow l (block_of C) (red_d l') = red_d l.
Proof.
  apply (ivl_unique 0 l); [|apply red_d_ivl].
  pose proof (ivl_blow l C levels_pos C_asc C_below 0 l' (red_d l') ltac:(unfold l'; lia) (red_d_ivl l')) as Q.
  unfold l' in Q at 1. rewrite stop_l in Q. exact Q.
Qed.

Lemma red_inside : inside l' (red_d l').
Proof. intros e He. apply red_d_ivl in He. lia. Qed.

Lemma all_inside q : Forall (d_step l') q -> Forall (inside_step l') q.
Proof. intros F. eapply Forall_impl; [|exact F]. intros st Q. apply (d_step_inside l C); auto. Qed.

Lemma accepts_blow_p q : Forall (d_step l') q -> accepts (red_d l) (blow_p q) = accepts (red_d l') q.
Proof.
  intros F. rewrite <- blow_red. apply (accepts_blow l l' (block_of C) (first_of C)).
  - intros i Hi. apply (first_bound l C); auto using C_asc, C_below.
  - intros i Hi. apply (block_first l C); auto using C_asc, C_below.
  - apply red_inside.
  - apply all_inside, F.
Qed.

Lemma cuts_blow_in q i : 0 < i < l' -> cuts_at (blow_p q) (first_of C i) = cuts_at q i.
Proof.
  intros Hi. unfold cuts_at. induction q as [|st q IH]; auto. cbn [map existsb]. rewrite IH. f_equal.
  apply (cut_blow_in l C); auto using C_asc, C_below.
Qed.
Lemma cuts_blow_out q c : 0 < c < l -> ~ In c C -> cuts_at (blow_p q) c = false.
Proof.
  intros Hc Hn. unfold cuts_at. induction q as [|st q IH]; auto. cbn [map existsb]. rewrite IH, orb_false_r.
  apply (cut_blow_out l C); auto using C_asc, C_below.
Qed.

Lemma cut_set_blow q : all_cut l' q = true -> cut_set l (blow_p q) = C.
Proof.
  intros Q. unfold cut_set. transitivity (filter (fun x => is_member x C) (seq 1 (l - 1)));
    [|apply sublist_filter; [apply seq_NoDup|exact HC]]. apply filter_ext_in.
  intros c Hc. apply in_seq in Hc. destruct (is_member c C) eqn:E.
  - apply is_member_spec in E. assert (exists i, 0 < i < l' /\ first_of C i = c) as [i [Hi <-]] by (apply (index_of l C); auto using C_asc, C_below).
    rewrite cuts_blow_in by auto.
    unfold all_cut in Q. rewrite forallb_forall in Q. apply Q, in_seq. unfold l' in *. lia.
  - apply cuts_blow_out; [lia|]. intros I. apply is_member_spec in I. congruence.
Qed.

Lemma of_cut_set p : In p (filter (fun p => same_list (cut_set l p) C) (list_d l n)) <->
  In p (map (fun q => blow_p q) (full l' n)).
Proof.
  rewrite filter_In, list_d_spec, in_map_iff. unfold same_list. split.
  - intros [[L [F A]] E]. destruct (list_eq_dec Nat.eq_dec (cut_set l p) C) as [E'|]; [|discriminate]. clear E.
    assert (G : Forall (fun st => exists st', d_step l' st' /\ st = blow_step l (block_of C) st') p).
    { rewrite Forall_forall in *. intros st Hi. apply (d_step_back l C); auto using C_asc, C_below.
      intros c Hc Hcut. rewrite <- E'. unfold cut_set. apply filter_In. split; [apply in_seq; lia|].
      unfold cuts_at. apply existsb_exists. eauto. }
    apply Forall_choose in G. destruct G as [q G]. exists q.
    assert (Eq : p = blow_p q) by (clear - G; induction G as [|st st' p q [_ E] _ IH]; cbn [map]; [auto|congruence]).
    assert (Fq : Forall (d_step l') q) by (clear - G; induction G as [|st st' p q [A _] _ IH]; constructor; auto).
    split; auto. unfold full. rewrite filter_In, list_d_spec. split.
    + split; [rewrite Eq, map_length in L; auto|split; auto]. rewrite <- accepts_blow_p by auto. rewrite <- Eq. auto.
    + unfold all_cut. apply forallb_forall. intros i Hi. apply in_seq in Hi.
      assert (Hi' : 0 < i < l') by (unfold l' in *; lia).
      rewrite <- (cuts_blow_in q i Hi'), <- Eq.
      assert (I : In (first_of C i) C) by (apply (first_pos l C); auto using C_asc, C_below; lia). assert (I2 : In (first_of C i) (cut_set l p)) by (rewrite E'; exact I).
      unfold cut_set in I2. apply filter_In in I2. tauto.
  - intros [q [<- Hq]]. unfold full in Hq. rewrite filter_In, list_d_spec in Hq. destruct Hq as [[L [F A]] Q].
    split.
    + split; [rewrite map_length; auto|split].
      * rewrite Forall_map. eapply Forall_impl; [|exact F]. intros st. intros Q'. apply (d_step_blow l C); auto using C_asc, C_below.
      * rewrite accepts_blow_p; auto.
    + rewrite (cut_set_blow q Q). destruct (list_eq_dec Nat.eq_dec C C); auto.
Qed.

Lemma blow_p_inj q q' : Forall (d_step l') q -> Forall (d_step l') q' -> blow_p q = blow_p q' -> q = q'.
Proof.
  intros F. revert q'. induction F as [|st q Hst F IH]; intros [|st' q'] F' E; try discriminate; auto.
  cbn [map] in E. injection E as E1 E2 E3 E4. inversion F'; subst.
  destruct (d_step_inside l C levels_pos st Hst) as [I1 I2]. destruct (d_step_inside l C levels_pos st' H1) as [I1' I2'].
  f_equal; [|apply IH; auto]. destruct st as [V Z w], st' as [V' Z' w']. cbn [vary pin what] in *. subst w'.
  assert (K : forall X Y, inside l' X -> inside l' Y -> blow l (block_of C) X = blow l (block_of C) Y -> X = Y).
  { intros X Y. apply (blow_inj l l' (block_of C) (first_of C)).
    - intros i Hi. apply (first_bound l C); auto using C_asc, C_below.
    - intros i Hi. apply (block_first l C); auto using C_asc, C_below. }
  f_equal; apply K; auto.
Qed.

Lemma number_of_cut_set : length (filter (fun p => same_list (cut_set l p) C) (list_d l n)) = length (full l' n).
Proof.
  rewrite <- (map_length (fun q => blow_p q) (full l' n)). 
  assert (N1 : NoDup (filter (fun p => same_list (cut_set l p) C) (list_d l n)))
    by (apply NoDup_filter, programs_once, NoDup_nodup).
  assert (N2 : NoDup (map (fun q => blow_p q) (full l' n))).
  { apply NoDup_map_on; [|apply NoDup_filter, programs_once, NoDup_nodup].
    intros q q' Hq Hq' E. unfold full in Hq, Hq'. rewrite filter_In, list_d_spec in Hq, Hq'.
    apply blow_p_inj; tauto. }
  apply Nat.le_antisymm; apply NoDup_incl_length; auto; intros p; apply of_cut_set.
Qed.
End OneSet.

Lemma count_by_key {A} (key : A -> list nat) (keys : list (list nat)) (s : list A) : NoDup keys ->
  (forall a, In a s -> In (key a) keys) ->
  length s = list_sum (map (fun C => length (filter (fun a => same_list (key a) C) s)) keys).
Proof.
  intros Hn. induction s as [|a s IH]; intros Hk.
  - clear. simpl. induction keys; simpl; auto.
  - cbn [length]. rewrite IH by (intros; apply Hk; right; auto).
    assert (K : In (key a) keys) by (apply Hk; left; auto). clear IH Hk.
    assert (G : forall ks, NoDup ks ->
      list_sum (map (fun C => length (filter (fun a => same_list (key a) C) (a :: s))) ks) =
      Nat.b2n (existsb (same_list (key a)) ks) + list_sum (map (fun C => length (filter (fun a => same_list (key a) C) s)) ks)).
    { induction 1 as [|C ks HCn Hks IHk]; auto. cbn [map list_sum fold_right existsb].
      fold (list_sum (map (fun C => length (filter (fun a => same_list (key a) C) (a :: s))) ks)).
      fold (list_sum (map (fun C => length (filter (fun a => same_list (key a) C) s)) ks)).
      rewrite IHk. cbn [filter]. destruct (same_list (key a) C) eqn:Sm.
      - assert (E : existsb (same_list (key a)) ks = false).
        { destruct (existsb _ ks) eqn:Q; auto. apply existsb_exists in Q. destruct Q as [C' [Hi Q]].
          unfold same_list in Sm, Q. destruct (list_eq_dec Nat.eq_dec (key a) C) as [E1|]; [|discriminate Sm].
          destruct (list_eq_dec Nat.eq_dec (key a) C') as [E2|]; [|discriminate Q]. subst. tauto. }
        rewrite E. simpl. lia.
      - simpl. lia. }
    rewrite (G keys Hn). assert (E : existsb (same_list (key a)) keys = true).
    { apply existsb_exists. exists (key a). split; auto. unfold same_list. destruct (list_eq_dec _ _ _); auto. }
    rewrite E. auto.
Qed.

(* The sum of g over the numbers of elements of all subsets of m things. *)
Fixpoint spread (m : nat) (g : nat -> nat) : nat :=
  match m with 0 => g 0 | S m' => spread m' g + spread m' (fun j => g (S j)) end.

Lemma spread_sublists s g : list_sum (map (fun C => g (length C)) (sublists s)) = spread (length s) g.
Proof.
  revert g. induction s as [|x s IH]; intros g; cbn [sublists length spread]; [simpl; lia|].
  rewrite map_app, list_sum_app, map_map. cbn [length]. rewrite (IH (fun j => g (S j))), (IH g). lia.
Qed.

(* For every number of levels, at most n steps: all programs, from those that use every cut. *)
Theorem count_for_all_levels l n : 0 < l ->
  length (list_d l n) = spread (l - 1) (fun j => length (full (S j) n)).
Proof.
  intros Hl. rewrite (count_by_key (cut_set l) (sublists (seq 1 (l - 1)))).
  - rewrite <- (seq_length (l - 1) 1) at 2. rewrite <- spread_sublists. f_equal. apply map_ext_in.
    intros C HC. apply number_of_cut_set; auto.
  - apply sublists_NoDup, seq_NoDup.
  - intros p _. apply filter_sublist.
Qed.

(* A step cuts at most twice. *)
Lemma step_cuts l s st : d_step l st -> NoDup s -> (forall c, In c s -> 0 < c) -> length (filter (cut st) s) <= 2.
Proof.
  intros [a [b [Hab [I _]]]] Hn Hp. apply (Nat.le_trans _ (length [a; b])); [|auto].
  apply NoDup_incl_length; [apply NoDup_filter; auto|]. intros c Hc. apply filter_In in Hc. destruct Hc as [Hc E].
  specialize (Hp c Hc). unfold cut in E.
  destruct (has_cases (vary st) (c - 1)) as [A|A], (has_cases (vary st) c) as [B|B]; rewrite A, B in E; try discriminate.
  - right. left. apply I in A. assert (~ (a <= c < b)) by (intros Q; apply I in Q; congruence). lia.
  - left. apply I in B. assert (~ (a <= c - 1 < b)) by (intros Q; apply I in Q; congruence). lia.
Qed.

Lemma program_cuts l s p : Forall (d_step l) p -> NoDup s -> (forall c, In c s -> 0 < c) ->
  length (filter (cuts_at p) s) <= 2 * length p.
Proof.
  intros F Hn Hp. induction F as [|st p Hst F IH].
  - unfold cuts_at. simpl. induction s; simpl; auto. apply IHs; [inversion Hn; auto|intros; apply Hp; right; auto].
  - assert (G : forall s, length (filter (cuts_at (st :: p)) s) <= length (filter (cut st) s) + length (filter (cuts_at p) s)).
    { clear. intros s. induction s as [|c s IH]; simpl; auto. destruct (cut st c), (cuts_at p c); simpl; lia. }
    specialize (G s). pose proof (step_cuts l s st Hst Hn Hp). simpl. lia.
Qed.

Theorem full_bounded j n : 2 * n < j -> full (S j) n = [].
Proof.
  intros Hj. destruct (full (S j) n) as [|p ps] eqn:E; auto. exfalso.
  assert (Hi : In p (full (S j) n)) by (rewrite E; left; auto). unfold full in Hi.
  rewrite filter_In, list_d_spec in Hi. destruct Hi as [[L [F _]] Q].
  pose proof (program_cuts (S j) (seq 1 (S j - 1)) p F (seq_NoDup _ _)) as B.
  assert (filter (cuts_at p) (seq 1 (S j - 1)) = seq 1 (S j - 1)) as G.
  { unfold all_cut in Q. rewrite forallb_forall in Q. clear - Q. induction (seq 1 (S j - 1)) as [|x s IH]; auto.
    cbn [filter]. rewrite (Q x) by (left; auto). f_equal. apply IH. intros; apply Q; right; auto. }
  rewrite G, seq_length in B. specialize (B ltac:(intros c Hc; apply in_seq in Hc; lia)). lia.
Qed.
