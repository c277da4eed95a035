(* Shapes (V, Z): the groups that vary the digits of V where the digits of Z are 0, as lists of ids:
   disjoint, ascending, root first. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits.
Import ListNotations.

Lemma NoDup_map_on {A B} (f : A -> B) l :
  (forall x y, In x l -> In y l -> f x = f y -> x = y) -> NoDup l -> NoDup (map f l).
Proof.
  induction l as [|x l IH]; intros Hf Hn; simpl; constructor; inversion Hn; subst.
  - rewrite in_map_iff. intros [y [E Hy]]. apply Hf in E; [subst; tauto|right; auto|left; auto].
  - apply IH; auto. intros; apply Hf; auto; right; auto.
Qed.

Lemma NoDup_append {A} (l l' : list A) : NoDup l -> NoDup l' -> (forall x, In x l -> ~ In x l') -> NoDup (l ++ l').
Proof.
  intros Hl Hl' Ha. induction Hl as [|x l Hx Hl IH]; simpl; auto. constructor.
  - rewrite in_app_iff. intros [|I]; [auto|]. apply (Ha x); auto. left. auto.
  - apply IH. intros y Hy. apply Ha. right. auto.
Qed.

Section Shapes.
Variable ns : list nat.
Let D := product ns.
Let dg := dig ns.

(* d with the digits of V taken from a; d with digit e set to 1. *)
Definition mix (V : N) (a d : nat) : nat := make ns (fun e => if has V e then dig ns e a else dig ns e d).
Definition put (e d : nat) : nat := make ns (fun x => if x =? e then 1 else dig ns x d).

Definition same (V : N) (d d' : nat) : Prop := forall e, has V e = false -> dig ns e d = dig ns e d'.
Definition zero (Z : N) (d : nat) : Prop := forall e, has Z e = true -> dig ns e d = 0.

Definition sameb (V : N) (d d' : nat) : bool :=
  all (length ns) (fun e => has V e || (dig ns e d =? dig ns e d')).
Definition zerob (Z : N) (d : nat) : bool :=
  all (length ns) (fun e => negb (has Z e) || (dig ns e d =? 0)).

Definition members (V : N) (d : nat) : list nat := filter (sameb V d) (seq 0 (product ns)).
Definition groups (V Z : N) : list (list nat) :=
  map (members V) (filter (fun d => zerob V d && zerob Z d) (seq 0 (product ns))).

Lemma sameb_spec V d d' : sameb V d d' = true <-> same V d d'.
Proof.
  unfold sameb, same. rewrite all_spec. split; intros H e.
  - intros Hv. destruct (Nat.lt_ge_cases e (length ns)).
    + specialize (H e H0). rewrite Hv in H. apply Nat.eqb_eq in H. auto.
    + rewrite !dig_beyond; auto.
  - intros He. destruct (has V e) eqn:E; auto. apply Nat.eqb_eq. auto.
Qed.

Lemma zerob_spec Z d : zerob Z d = true <-> zero Z d.
Proof.
  unfold zerob, zero. rewrite all_spec. split; intros H e.
  - intros Hv. destruct (Nat.lt_ge_cases e (length ns)).
    + specialize (H e H0). rewrite Hv in H. apply Nat.eqb_eq in H. auto.
    + rewrite !dig_beyond; auto.
  - intros He. destruct (has Z e) eqn:E; auto. apply Nat.eqb_eq. auto.
Qed.

Lemma zero_dec Z d : {zero Z d} + {~ zero Z d}.
Proof.
  destruct (zerob Z d) eqn:E; [left|right]; rewrite <- zerob_spec; auto. congruence.
Qed.

Lemma same_refl V d : same V d d.
Proof. intros e _. auto. Qed.
Lemma same_sym V d d' : same V d d' -> same V d' d.
Proof. intros H e He. symmetry. auto. Qed.
Lemma same_trans V a b c : same V a b -> same V b c -> same V a c.
Proof. intros H H' e He. rewrite H; auto. Qed.

Lemma members_eq V d d' : same V d d' -> members V d = members V d'.
Proof.
  intros H. apply filter_ext. intros x. apply eq_true_iff_eq. rewrite !sameb_spec.
  split; intros G; eauto using same_trans, same_sym.
Qed.

Lemma in_members V d x : In x (members V d) <-> x < D /\ same V d x.
Proof. unfold members. rewrite filter_In, in_seq, sameb_spec. unfold D. split; intros []; split; auto; lia. Qed.

Lemma NoDup_members V d : NoDup (members V d).
Proof. apply NoDup_filter, seq_NoDup. Qed.

Lemma filter_ext_length (f g : nat -> bool) l : (forall x, f x = g x) -> length (filter f l) = length (filter g l).
Proof. intros H. rewrite (filter_ext f g); auto. Qed.

(* The position of a member is the number of smaller members. *)
Lemma position_filter f a n x : a <= x < a + n -> f x = true ->
  position x (filter f (seq a n)) = length (filter f (seq a (x - a))).
Proof.
  revert a. induction n as [|n IH]; intros a Hx Hf; [lia|]. simpl.
  destruct (Nat.eq_dec x a) as [->|Hne].
  - rewrite Hf, Nat.sub_diag. simpl. rewrite Nat.eqb_refl. auto.
  - replace (x - a) with (S (x - S a)) by lia. simpl.
    destruct (f a); simpl.
    + destruct (Nat.eqb_spec x a); [lia|]. rewrite IH; auto; lia.
    + rewrite IH; auto; lia.
Qed.

Lemma position_members V d x : x < D -> same V d x ->
  position x (members V d) = count x (sameb V d).
Proof.
  intros Hx Hs. unfold members. rewrite position_filter; [|unfold D in *; lia|apply sameb_spec; auto].
  rewrite Nat.sub_0_r. reflexivity.
Qed.

Hypothesis positive : positive_sizes ns.

Lemma D_pos : 0 < D.
Proof. pose proof (product_pos ns positive). unfold D. lia. Qed.

Lemma mix_lt V a d : a < D -> d < D -> mix V a d < D.
Proof.
  intros Ha Hd. apply make_lt; auto. intros e. destruct (has V e); apply dig_lt; auto.
Qed.
Lemma dig_mix V a d e : a < D -> d < D ->
  dig ns e (mix V a d) = if has V e then dig ns e a else dig ns e d.
Proof.
  intros Ha Hd. unfold mix. rewrite (dig_make ns (fun e => if has V e then dig ns e a else dig ns e d)); auto.
  intros x. destruct (has V x); apply dig_lt; auto.
Qed.
Lemma put_lt e d : big ns e -> d < D -> put e d < D.
Proof.
  intros He Hd. apply make_lt; auto. intros x. destruct (Nat.eqb_spec x e); [subst; apply He|apply dig_lt; auto].
Qed.
Lemma dig_put e d x : big ns e -> d < D -> dig ns x (put e d) = if x =? e then 1 else dig ns x d.
Proof.
  intros He Hd. unfold put. rewrite (dig_make ns (fun x => if x =? e then 1 else dig ns x d)); auto.
  intros y. destruct (Nat.eqb_spec y e); [subst; apply He|apply dig_lt; auto].
Qed.

Lemma same_mix V a d : a < D -> d < D -> same V d (mix V a d).
Proof. intros Ha Hd e He. rewrite dig_mix, He; auto. Qed.

Lemma device_ext i j : i < D -> j < D -> (forall e, dig ns e i = dig ns e j) -> i = j.
Proof. apply dig_ext, positive. Qed.

(* Devices that agree outside V and inside are equal. *)
Lemma same_inside V d d' : d < D -> d' < D -> same V d d' ->
  (forall e, has V e = true -> dig ns e d = dig ns e d') -> d = d'.
Proof. intros Hd Hd' Hs H. apply device_ext; auto. intros e. destruct (has V e) eqn:E; auto. Qed.

Lemma hd_least f a n x : In x (filter f (seq a n)) ->
  (forall y, In y (filter f (seq a n)) -> x <= y) -> hd 0 (filter f (seq a n)) = x.
Proof.
  revert a. induction n as [|n IH]; intros a H1 H2; simpl in *; [tauto|].
  destruct (f a) eqn:E.
  - simpl. pose proof (H2 a (or_introl eq_refl)). destruct H1 as [|H1]; auto.
    apply filter_In in H1. rewrite in_seq in H1. lia.
  - apply IH; auto.
Qed.

Lemma hd_members V d : d < D -> hd 0 (members V d) = mix V 0 d.
Proof.
  intros Hd. pose proof D_pos.
  assert (H1 : In (mix V 0 d) (members V d)).
  { apply in_members. split; [apply mix_lt; auto|apply same_mix; auto]. }
  assert (H2 : forall x, In x (members V d) -> mix V 0 d <= x).
  { intros x Hx. apply in_members in Hx. destruct Hx as [Hx Hs]. apply (dig_le ns); auto.
    - apply mix_lt; auto.
    - intros e. rewrite dig_mix by auto. rewrite dig_zero. destruct (has V e) eqn:E; [lia|].
      rewrite (Hs e E). auto. }
  apply hd_least; auto.
Qed.

Lemma members_not_nil V d : d < D -> members V d <> [].
Proof.
  intros Hd E. assert (In d (members V d)) by (apply in_members; auto using same_refl).
  rewrite E in H. inversion H.
Qed.

(* The order inside a group depends on the digits of V only. *)
Lemma position_le V d x d' x' : x < D -> x' < D -> d < D -> d' < D -> same V d x -> same V d' x' ->
  (forall e, has V e = true -> dig ns e x = dig ns e x') ->
  position x (members V d) <= position x' (members V d').
Proof.
  intros Hx Hx' Hd Hd' Hs Hs' Hv. rewrite !position_members by auto. unfold count.
  rewrite <- (map_length (fun y => mix V y d')). apply NoDup_incl_length.
  - apply NoDup_map_on; [|apply NoDup_filter, seq_NoDup].
    intros y z Hy Hz E. apply filter_In in Hy, Hz. rewrite in_seq, sameb_spec in Hy, Hz.
    destruct Hy as [Hy Hsy], Hz as [Hz Hsz]. apply (same_inside V); try lia.
    + eauto using same_trans, same_sym.
    + intros e He. assert (F : dig ns e (mix V y d') = dig ns e (mix V z d')) by congruence.
      rewrite !dig_mix, He in F by lia. auto.
  - intros w Hw. apply in_map_iff in Hw. destruct Hw as [y [<- Hy]]. apply filter_In in Hy.
    rewrite in_seq, sameb_spec in Hy. destruct Hy as [Hy Hsy].
    assert (y < D) by lia.
    apply filter_In. rewrite in_seq, sameb_spec. split; [|apply same_mix; auto]. split; [lia|].
    simpl. apply (dig_order ns (has V) y x); auto; try lia.
    + apply mix_lt; auto.
    + intros e He. rewrite dig_mix, He by auto. rewrite <- (Hsy e He), (Hs e He), (Hs' e He). auto.
    + intros e He. rewrite dig_mix, He by auto. split; auto.
Qed.

Lemma position_inside V d x d' x' : x < D -> x' < D -> d < D -> d' < D -> same V d x -> same V d' x' ->
  (forall e, has V e = true -> dig ns e x = dig ns e x') ->
  position x (members V d) = position x' (members V d').
Proof.
  intros. apply Nat.le_antisymm; apply position_le; auto. intros. symmetry. auto.
Qed.

Lemma members_length_le V d d' : d < D -> d' < D ->
  length (members V d) <= length (members V d').
Proof.
  intros Hd Hd'. rewrite <- (map_length (fun y => mix V y d')). apply NoDup_incl_length.
  - apply NoDup_map_on; [|apply NoDup_members].
    intros y z Hy Hz E. apply in_members in Hy, Hz. destruct Hy as [Hy Hsy], Hz as [Hz Hsz].
    apply (same_inside V); auto.
    + eauto using same_trans, same_sym.
    + intros e He. assert (F : dig ns e (mix V y d') = dig ns e (mix V z d')) by congruence.
      rewrite !dig_mix, He in F by auto. auto.
  - intros w Hw. apply in_map_iff in Hw. destruct Hw as [y [<- Hy]]. apply in_members in Hy.
    destruct Hy. apply in_members. auto using mix_lt, same_mix.
Qed.

Lemma members_length V d d' : d < D -> d' < D -> length (members V d) = length (members V d').
Proof. intros. apply Nat.le_antisymm; apply members_length_le; auto. Qed.

Lemma members_length_pos V d : d < D -> 0 < length (members V d).
Proof.
  intros Hd. pose proof (members_not_nil V d Hd). destruct (members V d); [congruence|simpl; lia].
Qed.

Lemma position_root V d x : x < D -> d < D -> same V d x ->
  (position x (members V d) = 0 <-> zero V x).
Proof.
  intros Hx Hd Hs. assert (R : position (mix V 0 d) (members V d) = 0).
  { rewrite <- hd_members by auto. destruct (members V d) eqn:E; auto. simpl.
    rewrite Nat.eqb_refl. auto. }
  pose proof D_pos. split.
  - intros E. assert (x = mix V 0 d).
    { apply (position_inj _ _ (members V d)); rewrite ?in_members; auto; try congruence.
      split; [apply mix_lt; auto|apply same_mix; auto]. }
    intros e He. rewrite H0, dig_mix, He, dig_zero; auto.
  - intros Hz. rewrite <- R. apply position_inside; auto using same_mix, mix_lt.
    intros e He. rewrite dig_mix, He, dig_zero by auto. auto.
Qed.

(* Groups of a shape: the group of a device whose Z-digits are 0, none for the others. *)
Lemma in_groups V Z g : apart V Z = true ->
  (In g (groups V Z) <-> exists d, d < D /\ zero Z d /\ g = members V d).
Proof.
  intros Ha. unfold groups. rewrite in_map_iff. pose proof D_pos. split.
  - intros [d [E Hd]]. rewrite filter_In, in_seq, andb_true_iff, !zerob_spec in Hd.
    destruct Hd as [Hd [Hv Hz]]. exists d. unfold D. repeat split; auto. lia.
  - intros [d [Hd [Hz E]]]. exists (mix V 0 d). split.
    + subst. apply members_eq. apply same_sym, same_mix; auto.
    + rewrite filter_In, in_seq, andb_true_iff, !zerob_spec. split; [|split].
      * pose proof (mix_lt V 0 d H Hd). unfold D in *. lia.
      * intros e He. rewrite dig_mix, He, dig_zero; auto.
      * intros e He. rewrite dig_mix by auto. destruct (has V e) eqn:E'; auto using dig_zero.
Qed.

Lemma find_group V Z d : apart V Z = true -> d < D -> zero Z d ->
  find (is_member d) (groups V Z) = Some (members V d).
Proof.
  intros Ha Hd Hz. destruct (find (is_member d) (groups V Z)) as [g|] eqn:E.
  - apply find_some in E. destruct E as [Hg E]. apply in_groups in Hg; auto.
    destruct Hg as [d' [Hd' [_ ->]]]. apply is_member_spec, in_members in E.
    f_equal. apply members_eq. tauto.
  - assert (is_member d (members V d) = false).
    { apply (find_none _ _ E). apply in_groups; eauto. }
    assert (is_member d (members V d) = true); [|congruence].
    apply is_member_spec, in_members. auto using same_refl.
Qed.

Lemma find_group_none V Z d : apart V Z = true -> d < D -> ~ zero Z d ->
  find (is_member d) (groups V Z) = None.
Proof.
  intros Ha Hd Hz. destruct (find (is_member d) (groups V Z)) as [g|] eqn:E; auto.
  exfalso. apply Hz. apply find_some in E. destruct E as [Hg E]. apply in_groups in Hg; auto.
  destruct Hg as [d' [Hd' [Hz' ->]]]. apply is_member_spec, in_members in E.
  intros e He. rewrite <- (proj2 E e); auto. rewrite apart_spec in Ha.
  destruct (has V e) eqn:F; auto. apply Ha in F. congruence.
Qed.

End Shapes.
