(* T7, both directions: a program is valid exactly if the machine accepts it. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights machine.
Import ListNotations.

Section Equivalence.
Variable ns : list nat.
Variable k : nat.
Notation D := (product ns).
Notation same := (same ns).
Notation zero := (zero ns).
Notation mix := (mix ns).
Notation put := (put ns).
Notation H := (H ns).
Hypothesis positive : positive_sizes ns.
Hypothesis chunks : 0 < k.
Hypothesis divides : exists q, k = q * D.
Notation stands := (stands ns k).
Notation alpha := (alpha ns).

(* Outside V every digit of size above 1 is 1, inside all are 0. *)
Definition outer (V : N) : nat := make ns (fun e => if has V e then 0 else if 2 <=? size ns e then 1 else 0).
Lemma outer_digits V e : (if has V e then 0 else if 2 <=? size ns e then 1 else 0) < size ns e.
Proof.
  pose proof (size_pos ns e positive). destruct (has V e); [lia|]. destruct (Nat.leb_spec 2 (size ns e)); lia.
Qed.
Lemma outer_lt V : outer V < D.
Proof. apply make_lt; auto. intros e. apply outer_digits. Qed.
Lemma dig_outer V e : dig ns e (outer V) = if has V e then 0 else if 2 <=? size ns e then 1 else 0.
Proof.
  apply (dig_make ns (fun e => if has V e then 0 else if 2 <=? size ns e then 1 else 0)); auto.
  intros x. apply outer_digits.
Qed.
Lemma dig_outer_out V e : big ns e -> has V e = false -> dig ns e (outer V) = 1.
Proof. intros B E. rewrite dig_outer, E. unfold big in B. destruct (Nat.leb_spec 2 (size ns e)); lia. Qed.
Lemma dig_outer_in V e : has V e = true -> dig ns e (outer V) = 0.
Proof. intros E. rewrite dig_outer, E. auto. Qed.

Lemma outer_root V : mix V 0 (outer V) = outer V.
Proof.
  pose proof (D_pos ns positive) as D0. pose proof (outer_lt V) as O.
  apply (device_ext ns positive); auto using mix_lt. intros e. rewrite dig_mix, dig_zero by auto.
  destruct (has V e) eqn:E; auto. rewrite dig_outer_in; auto.
Qed.

Lemma step_exists m s t st : stands m s t -> proper ns st -> legal_step ns k st s = true ->
  (forall e, has (pin st) e = true -> has (merged t) e = true /\ has (scattered t) e = false) ->
  exists m', mstep st m = Some m'.
Proof.
  intros Hs Hp Hl Hpin. pose proof (s_inv _ _ _ _ _ Hs) as inv. pose proof (s_well _ _ _ _ _ Hs) as w.
  destruct (step_facts ns k positive chunks s t st inv Hp Hl) as [Hn [inv' _]].
  pose proof (s_T _ _ _ _ _ Hs) as HT. pose proof (s_S _ _ _ _ _ Hs) as HS.
  pose proof (s_R _ _ _ _ _ Hs) as HR. unfold needs in Hn. unfold mstep.
  destruct (what st) eqn:W.
  - assert (E : apart (vary st) (mT m) && subset (mR m) (pin st) && subset (pin st) (mT m) && apart (pin st) (mS m) = true).
    { rewrite !andb_true_iff, !apart_spec, !subset_spec. destruct Hn as [N1 N2].
      split; [split; [split|]|].
      - intros e He. rewrite <- HT. auto.
      - intros e He. rewrite <- HR in He. auto.
      - intros e He. rewrite <- HT. apply Hpin; auto.
      - intros e He. rewrite <- HS. apply Hpin; auto. }
    rewrite E. eauto.
  - assert (E : apart (vary st) (mT m) && is_zero (mR m) = true).
    { rewrite andb_true_iff, apart_spec, is_zero_spec. destruct Hn as [N1 N2]. split.
      - intros e He. rewrite <- HT. auto.
      - rewrite <- HR. apply zero_spec. intros e. destruct (has_cases (reduced t) e) as [Q|]; auto.
        apply N2 in Q. rewrite (pin_zero ns st Hp) in Q by congruence. rewrite has_zero in Q. discriminate. }
    rewrite E. eauto.
  - assert (E : is_zero (mR m) && subset (vary st) (mS m) = true).
    { rewrite andb_true_iff, subset_spec, is_zero_spec. destruct Hn as [N1 N2]. split.
      - rewrite <- HR. auto.
      - intros e He. rewrite <- HS. auto. }
    rewrite E. eauto.
  - assert (E : apart (vary st) (mT m) && is_zero (mR m) = true).
    { rewrite andb_true_iff, apart_spec, is_zero_spec. destruct Hn as [N1 N2]. split.
      - intros e He. rewrite <- HT. auto.
      - rewrite <- HR. apply zero_spec. intros e. destruct (has_cases (reduced t) e) as [Q|]; auto.
        apply N2 in Q. rewrite (pin_zero ns st Hp) in Q by congruence. rewrite has_zero in Q. discriminate. }
    rewrite E. eauto.
  - destruct st as [V Z c]. cbn [vary pin what] in *. subst c.
    assert (Z = 0%N) as -> by (apply (pin_zero ns _ Hp); discriminate).
    destruct Hp as [Hne [HbV [HbZ [Hap _]]]]. cbn [vary pin what] in *.
    apply legal_broadcast in Hl; auto. destruct Hl as [Hocc [Hroot Hlearn]].
    destruct Hn as [N1 [N2 N3]]. rewrite HR in N1. rewrite HS in N2.
    pose proof (outer_lt V) as O. pose proof (outer_root V) as OR.
    assert (ZY : forall W Y x, In (W, Y) (mP m) -> x < D -> same V (outer V) x -> zero Y x -> subset Y V = true).
    { intros W' Y x Hi Hx Hsx Hz. apply subset_spec. intros e He. destruct (has_cases V e) as [|Q]; auto.
      specialize (Hz e He). destruct (w_pin _ _ w W' Y e Hi He) as [_ [_ B]].
      rewrite <- (Hsx e Q), dig_outer_out in Hz by auto. discriminate. }
    assert (E3 : forall e, has (N.ldiff V (mR m)) e = true -> has (N.lor (mB m) (union_of (active V (mP m)))) e = true).
    { intros e He. apply diff_true in He. destruct He as [He Hr].
      assert (B : big ns e) by auto. set (d := put e (outer V)).
      assert (Pd : d < D) by (apply put_lt; auto).
      assert (Sd : same V (outer V) d) by (apply same_put; auto).
      assert (Zd : zero (mR m) d).
      { apply zero_put; auto. intros x Hx. apply dig_outer_in. auto. }
      destruct (proj1 (holder_iff ns k m s t Hs d Pd) Zd) as [r [Hr' Hh]].
      assert (E : s d r d = true) by (apply (i_coset _ _ _ _ inv); auto using same_refl).
      apply Hroot in E; auto using zero_none.
      replace (mix V 0 d) with (outer V) in E.
      2:{ rewrite <- OR. apply (device_ext ns positive); auto using mix_lt, D_pos.
          intros x. rewrite !dig_mix by auto using D_pos. destruct (has V x) eqn:Q; auto. }
      pose proof (row_out ns k m s t Hs (outer V) r d O Hr' Pd E e) as F.
      destruct (alpha m (outer V) e) eqn:A.
      - apply alpha_spec in A. rewrite has_or, orb_true_iff, union_spec.
        destruct A as [A|[W' [Y [Hi [A Hz]]]]]; auto. right. exists W', Y. split; auto.
        apply in_active. split; auto. apply (ZY W' Y (outer V)); auto using same_refl.
      - specialize (F eq_refl). unfold d in F. rewrite dig_put, Nat.eqb_refl, dig_outer_in in F by auto. discriminate. }
    assert (E : subset (mR m) V && apart V (mS m) && subset (N.ldiff V (mR m)) (N.lor (mB m) (union_of (active V (mP m)))) &&
         (negb (is_zero (mR m)) || negb (forallb (fun wy => negb (subset (snd wy) V)) (mP m))) = true).
    { rewrite !andb_true_iff, apart_spec, !subset_spec. split; [split; [split|]|]; auto.
      destruct (is_zero (mR m)) eqn:R0; auto. apply is_zero_spec in R0. cbn [negb orb].
      apply negb_true_iff. destruct (forallb _ (mP m)) eqn:F; auto. exfalso. rewrite forallb_forall in F.
      destruct (Hlearn (outer V) O (zero_none ns _)) as [x [r [c [Hx [Hsx [Hr [Hc [E1 E2]]]]]]]].
      rewrite OR in E1.
      assert (A : forall y e, y < D -> same V (outer V) y -> alpha m y e = has (mB m) e).
      { intros y e Hy Hsy. apply eq_true_iff_eq. rewrite alpha_spec. split; auto.
        intros [|[W' [Y [Hi [A Hz]]]]]; auto. apply (ZY W' Y y) in Hz; auto.
        apply F in Hi. cbn [snd] in Hi. rewrite Hz in Hi. discriminate. }
      assert (Hh : H s (outer V) r) by (apply (H_intro ns s (outer V) r c); auto).
      assert (Hhx : H s x r).
      { apply (holds_same ns k m s t Hs (outer V) x); auto.
        - rewrite R0. apply zero_none.
        - intros e He. apply Hsx. destruct (has_cases V e) as [Q|]; auto. apply N2 in Q. congruence. }
      assert (s x r c = true); [|congruence].
      apply (row_in ns k m s t Hs); auto. intros e Ha. rewrite A in Ha by auto.
      rewrite (row_out ns k m s t Hs (outer V) r c O Hr Hc E1 e).
      - apply Hsx. destruct (has_cases V e) as [Q|]; auto.
        assert (G : has (N.lor (mB m) (union_of (active V (mP m)))) e = true).
        { apply E3. rewrite R0, has_diff, Q, has_zero. auto. }
        apply or_cases in G. destruct G as [G|G]; [congruence|].
        apply union_spec in G. destruct G as [W' [Y [Hi G]]]. apply in_active in Hi. destruct Hi as [Hi Sb].
        apply F in Hi. cbn [snd] in Hi. rewrite Sb in Hi. discriminate.
      - rewrite A; auto using same_refl. }
    rewrite E. eauto.
Qed.

Lemma mrun_app p q m : mrun (p ++ q) m = match mrun p m with Some m' => mrun q m' | None => None end.
Proof.
  revert m. induction p as [|st p IH]; intros m; simpl; auto. destruct (mstep st m); auto.
Qed.

Lemma run_stands p m s t m' : Forall (proper ns) p -> stands m s t -> mrun p m = Some m' ->
  legal_program ns k p s = true /\ stands m' (run ns k p s) (track_program p t).
Proof.
  revert m s t. induction p as [|st p IH]; intros m s t Hp Hs Hm; simpl in *.
  - injection Hm as <-. auto.
  - destruct (mstep st m) as [m1|] eqn:E; [|discriminate].
    destruct (step_stands ns k positive chunks divides m s t Hs st m1 (Forall_inv Hp) E) as [Hl Hs'].
    rewrite Hl. apply (IH m1); auto. apply (Forall_inv_tail Hp).
Qed.

Variable red : N.
Hypothesis red_big : forall e, has red e = true -> big ns e.

Lemma goal_accepts m s t : stands m s t -> (goal ns k red s = true <-> accepting red m = true).
Proof.
  intros Hs. pose proof (s_inv _ _ _ _ _ Hs) as inv. pose proof (s_well _ _ _ _ _ Hs) as w.
  pose proof (D_pos ns positive) as D0. rewrite goal_spec by auto.
  unfold accepting. rewrite !andb_true_iff, !is_zero_spec, N.eqb_eq. split.
  - intros G.
    assert (HH : forall d r, d < D -> r < k -> H s d r).
    { intros d r Hd Hr. apply (H_intro ns s d r d); auto. apply G; auto using same_refl. }
    assert (ES : mS m = 0%N).
    { apply zero_spec. intros e. destruct (has_cases (mS m) e) as [Q|]; auto. exfalso.
      assert (B : big ns e) by (apply (w_B _ _ w), (w_S _ _ w), Q).
      assert (P : put e 0 < D) by (apply put_lt; auto).
      assert (F : dig ns e 0 = dig ns e (put e 0)).
      { apply (i_apart _ _ _ _ inv 0 (put e 0) 0 e); auto. rewrite (s_S _ _ _ _ _ Hs). auto. }
      rewrite dig_zero, dig_put, Nat.eqb_refl in F by auto. discriminate. }
    assert (ER : mR m = 0%N).
    { apply zero_spec. intros e. destruct (has_cases (mR m) e) as [Q|]; auto. exfalso.
      assert (B : big ns e) by (apply (w_B _ _ w), (w_R _ _ w), Q).
      assert (P : put e 0 < D) by (apply put_lt; auto).
      assert (Z : zero (mR m) (put e 0)) by (apply (holder_iff ns k m s t Hs); eauto).
      specialize (Z e Q). rewrite dig_put, Nat.eqb_refl in Z by auto. discriminate. }
    assert (A : forall d e, d < D -> big ns e -> alpha m d e = has red e).
    { intros d e Hd B. set (c := make ns (fun x => if x =? e then if dig ns e d =? 0 then 1 else 0 else dig ns x d)).
      assert (V : forall x, (if x =? e then if dig ns e d =? 0 then 1 else 0 else dig ns x d) < size ns x).
      { intros x. destruct (Nat.eqb_spec x e) as [->|]; [|apply dig_lt; auto].
        unfold big in B. destruct (dig ns e d =? 0); lia. }
      assert (Hc : c < D) by (apply make_lt; auto).
      assert (Dc : forall x, dig ns x c = if x =? e then if dig ns e d =? 0 then 1 else 0 else dig ns x d)
        by (intros x; apply (dig_make ns (fun x => if x =? e then if dig ns e d =? 0 then 1 else 0 else dig ns x d)); auto).
      assert (Ne : dig ns e c <> dig ns e d).
      { rewrite Dc, Nat.eqb_refl. destruct (Nat.eqb_spec (dig ns e d) 0) as [->|]; lia. }
      assert (Eq : forall x, x <> e -> dig ns x c = dig ns x d).
      { intros x Hx. rewrite Dc. destruct (Nat.eqb_spec x e); congruence. }
      assert (I1 : s d 0 c = true <-> alpha m d e = true).
      { split.
        - intros E. destruct (alpha m d e) eqn:Q; auto. destruct Ne.
          apply (row_out ns k m s t Hs d 0 c); auto.
        - intros E. apply (row_in ns k m s t Hs); auto. intros x Hx. apply Eq. congruence. }
      assert (I2 : s d 0 c = true <-> has red e = true).
      { rewrite G by auto. split.
        - intros E. destruct (has_cases red e) as [|Q]; auto. destruct Ne. symmetry. auto.
        - intros E x Hx. symmetry. apply Eq. congruence. }
      apply eq_true_iff_eq. tauto. }
    assert (EB : mB m = red).
    { apply has_ext. intros e.
      assert (Q : alpha m (outer 0) e = has (mB m) e).
      { apply eq_true_iff_eq. rewrite alpha_spec. split; auto. intros [|[W [Y [Hi [_ Hz]]]]]; auto. exfalso.
        destruct (w_W _ _ w W Y Hi) as [_ HY]. apply nonzero_spec in HY. destruct HY as [y Hy].
        specialize (Hz y Hy). destruct (w_pin _ _ w W Y y Hi Hy) as [_ [_ B]].
        rewrite dig_outer_out in Hz by auto using has_zero. discriminate. }
      destruct (has_cases red e) as [E|E].
      - rewrite <- Q. apply A; auto using outer_lt.
      - destruct (has_cases (mB m) e) as [F|F]; [|congruence].
        rewrite <- Q. apply A; auto using outer_lt. apply (w_B _ _ w), F. }
    split; [split; [split|]|]; auto. destruct (mP m) as [|[W Y] l] eqn:EP; auto. exfalso.
    assert (Hi : In (W, Y) (mP m)) by (rewrite EP; left; auto).
    destruct (w_W _ _ w W Y Hi) as [HW _]. apply nonzero_spec in HW. destruct HW as [a Ha].
    destruct (w_fresh _ _ w W Y a Hi Ha) as [F1 [_ B]].
    assert (Q : alpha m 0 a = true).
    { apply alpha_spec. right. exists W, Y. split; [auto|split; auto]. intros y _. apply dig_zero. }
    rewrite A in Q by auto. congruence.
  - intros [[[ES ER] EB] EP] d r c Hd Hr Hc.
    destruct (mP m) as [|x l] eqn:Q; [|discriminate].
    assert (Hh : H s d r).
    { assert (Zd : zero (mR m) d) by (rewrite ER; apply zero_none).
      pose proof (s_count _ _ _ _ _ Hs d Hd Zd) as C. rewrite ES, weight_none, Nat.mul_1_r in C by apply has_zero.
      rewrite count_full in C. apply C; auto. }
    assert (A : forall e, alpha m d e = has red e).
    { intros e. unfold machine.alpha. rewrite Q, EB. simpl. apply orb_false_r. }
    rewrite (row_of ns k m s t Hs d r c) by auto. unfold shapes.same.
    split; intros G e He; symmetry; apply G; rewrite ?A in *; auto.
Qed.

(* T7 *)
Theorem machine_accepts_valid p : Forall (proper ns) p -> valid ns k red p = true -> accepts red p = true.
Proof.
  intros Hp Hv.
  assert (R : forall p1 p2, p = p1 ++ p2 -> exists m, mrun p1 mstart = Some m /\
            stands m (run ns k p1 initial) (track_program p1 start)).
  { intros p1. induction p1 as [|st p1 IH] using rev_ind; intros p2 E.
    - exists mstart. split; auto. apply stands_start; auto.
    - rewrite <- app_assoc in E. simpl in E. destruct (IH _ E) as [m [Hm Hs]].
      destruct (at_step ns k positive chunks red p Hp Hv p1 st p2 E) as [_ [Hpr [Hl _]]].
      destruct (step_exists m _ _ st Hs Hpr Hl) as [m' Hm'].
      { intros e He. split; [apply (pins_merged ns k positive chunks red p Hp Hv p1 st p2)|
                             apply (pins_whole ns k positive chunks red p Hp Hv p1 st p2)]; auto. }
      exists m'. rewrite mrun_app, Hm. simpl. rewrite Hm'. split; auto.
      rewrite run_app, track_app. simpl.
      apply (step_stands ns k positive chunks divides m _ _ Hs); auto. }
  destruct (R p [] (eq_sym (app_nil_r p))) as [m [Hm Hs]]. unfold accepts. rewrite Hm.
  apply (goal_accepts m _ _ Hs). unfold valid in Hv. apply andb_true_iff in Hv. tauto.
Qed.

Theorem machine_valid_accepted p : Forall (proper ns) p -> accepts red p = true -> valid ns k red p = true.
Proof.
  intros Hp Ha. unfold accepts in Ha. destruct (mrun p mstart) as [m|] eqn:E; [|discriminate].
  destruct (run_stands p mstart initial start m Hp (stands_start ns k positive chunks) E) as [Hl Hs].
  unfold valid. rewrite Hl. apply (goal_accepts m _ _ Hs). auto.
Qed.

Theorem machine_equivalence p : Forall (proper ns) p -> valid ns k red p = accepts red p.
Proof.
  intros Hp. apply eq_true_iff_eq. split; [apply machine_accepts_valid|apply machine_valid_accepted]; auto.
Qed.

End Equivalence.
