(* T3 to T6: the merging steps of a valid program partition the reduction digits; what a step pins
   lies in the reduction digits, is merged before, and is not scattered. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition.
Import ListNotations.

Section Pins.
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

(* One step of any collective. *)
Lemma step_facts s t st : invariant ns k s t -> proper ns st -> legal_step ns k st s = true ->
  needs t st /\ invariant ns k (do_step ns k st s) (track_step st t) /\
  (forall c, c < D -> s 0 0 c = true -> do_step ns k st s 0 0 c = true) /\
  (merging (what st) = true -> forall e, has (vary st) e = true -> do_step ns k st s 0 0 (put e 0) = true) /\
  (forall d r, d < D -> r < k -> H s d r -> exists x, x < D /\ H (do_step ns k st s) x r).
Proof.
  intros inv Hp Hl. destruct st as [V Z c].
  destruct c; try (assert (Z = 0%N) as -> by (apply (pin_zero ns _ Hp); discriminate)).
  - destruct (step_allreduce ns k positive chunks s t V Z inv Hp Hl) as [A [B [C F]]].
    split; [auto|split; [auto|split; [auto|split; [auto|]]]].
    intros d r Hd Hr Hh. apply H_spec in Hh. destruct Hh as [x [Hx G]]. exists d. split; auto.
    destruct (zero_dec ns Z d) as [z|z].
    + apply (H_intro ns _ d r x); auto. destruct Hp as [_ [_ [_ [Hap _]]]].
      apply do_allreduce; auto. exists d. auto using same_refl.
    + apply (H_intro ns _ d r x); auto. destruct Hp as [_ [_ [_ [Hap _]]]].
      rewrite step_untouched; auto.
  - destruct (step_reducescatter ns k positive chunks s t V inv Hp Hl) as [A [B [C [F G]]]]. auto 10.
  - destruct (step_allgather ns k positive chunks s t V inv Hp Hl) as [A [B C]].
    pose proof (D_pos ns positive) as D0.
    split; [auto|split; [auto|split; [auto|split; [discriminate|]]]].
    intros d r Hd Hr Hh. apply H_spec in Hh. destruct Hh as [x [Hx G]]. exists d. split; auto.
    apply (H_intro ns _ d r x); auto.
  - destruct (step_reduce ns k positive chunks s t V inv Hp Hl) as [A [B [C [F G]]]]. auto 10.
  - destruct (step_broadcast ns k positive chunks s t V inv Hp Hl) as [A [B [C F]]].
    split; [auto|split; [auto|split; [|split; [discriminate|auto]]]].
    intros c Hc G. rewrite C. auto.
Qed.

(* What a device holds after a step, somebody held who agrees with it outside V. *)
Lemma step_effect s st d r c : proper ns st -> d < D -> r < k -> do_step ns k st s d r c = true ->
  (s d r c = true /\ ~ zero (pin st) d) \/
  (zero (pin st) d /\ exists x, x < D /\ same (vary st) d x /\ s x r c = true).
Proof.
  intros Hp Hd Hr E. destruct st as [V Z w]. destruct Hp as [_ [_ [_ [Hap _]]]]. cbn [vary pin what] in *.
  pose proof (D_pos ns positive) as D0.
  destruct (zero_dec ns Z d) as [z|z]; [right|left; rewrite step_untouched in E; auto].
  split; auto. destruct w.
  - apply do_allreduce in E; auto.
  - apply do_reducescatter in E; auto. tauto.
  - apply do_allgather in E; auto.
  - apply do_reduce in E; auto. tauto.
  - rewrite do_broadcast in E by auto. exists (mix V 0 d). auto using mix_lt, same_mix.
Qed.

(* After a Broadcast every device holds something. *)
Lemma broadcast_fills t st d : needs t st -> what st = Broadcast ->
  zero (reduced (track_step st t)) d.
Proof.
  intros Hn W. apply zero_of_none. intros x Hx. unfold needs in Hn. unfold track_step in Hx.
  rewrite W in *. cbn [reduced] in Hx. apply diff_true in Hx. destruct Hx as [A B].
  apply Hn in A. congruence.
Qed.

Lemma broadcast_effect s st d r c : proper ns st -> what st = Broadcast -> d < D ->
  do_step ns k st s d r c = s (mix (vary st) 0 d) r c.
Proof.
  intros Hpr W Hd. destruct st as [V Z w]. cbn [vary pin what] in *. subst w.
  assert (Z = 0%N) as -> by (apply (pin_zero ns _ Hpr); discriminate).
  rewrite do_broadcast; auto using zero_none. apply Hpr.
Qed.

Lemma legal_app p q s : legal_program ns k (p ++ q) s = legal_program ns k p s && legal_program ns k q (run ns k p s).
Proof. revert s. induction p as [|st p IH]; intros s; simpl; auto. rewrite IH, andb_assoc. auto. Qed.
Lemma run_app p q s : run ns k (p ++ q) s = run ns k q (run ns k p s).
Proof. revert s. induction p; simpl; auto. Qed.
Lemma track_app p q t : track_program (p ++ q) t = track_program q (track_program p t).
Proof. revert t. induction p; simpl; auto. Qed.

(* T2 *)
Theorem invariant_reached p s t : invariant ns k s t -> Forall (proper ns) p -> legal_program ns k p s = true ->
  invariant ns k (run ns k p s) (track_program p t) /\
  (forall c, c < D -> s 0 0 c = true -> run ns k p s 0 0 c = true).
Proof.
  revert s t. induction p as [|st p IH]; intros s t inv Hp Hl; simpl in *; auto.
  inversion Hp; subst. apply andb_true_iff in Hl. destruct Hl as [Hl Hl'].
  destruct (step_facts s t st inv) as [_ [inv' [Hc _]]]; auto.
  destruct (IH _ _ inv') as [A B]; auto.
Qed.

Section Valid.
Variable red : N.
Variable p : list step.
Hypothesis Hp : Forall (proper ns) p.
Hypothesis Hvalid : valid ns k red p = true.

Let final := run ns k p initial.

Lemma final_goal d r c : d < D -> r < k -> c < D -> (final d r c = true <-> same red d c).
Proof.
  unfold valid in Hvalid. apply andb_true_iff in Hvalid. destruct Hvalid as [_ G].
  rewrite goal_spec in G by auto. apply G.
Qed.

Lemma final_invariant : invariant ns k final (track_program p start).
Proof.
  unfold valid in Hvalid. apply andb_true_iff in Hvalid. destruct Hvalid as [L _].
  apply invariant_reached; auto. apply invariant_start; auto.
Qed.

(* The state and track before a step, and what is left. *)
Lemma at_step p1 st p2 : p = p1 ++ st :: p2 ->
  let s := run ns k p1 initial in let t := track_program p1 start in
  invariant ns k s t /\ proper ns st /\ legal_step ns k st s = true /\
  Forall (proper ns) p2 /\ legal_program ns k p2 (do_step ns k st s) = true /\
  final = run ns k p2 (do_step ns k st s).
Proof.
  intros E s t. unfold valid in Hvalid. apply andb_true_iff in Hvalid. destruct Hvalid as [L _].
  pose proof Hp as F. rewrite E in F. apply Forall_app in F. destruct F as [F1 F2]. inversion F2; subst.
  rewrite legal_app in L. simpl in L. apply andb_true_iff in L. destruct L as [L1 L].
  apply andb_true_iff in L. destruct L as [L2 L3].
  assert (inv : invariant ns k s t) by (apply invariant_reached; auto; apply invariant_start; auto).
  unfold final. rewrite run_app. simpl. auto 10.
Qed.

Lemma in_step st : In st p -> exists p1 p2, p = p1 ++ st :: p2.
Proof. apply in_split. Qed.

Lemma red_of e : big ns e -> final 0 0 (put e 0) = true -> has red e = true.
Proof.
  intros B E. pose proof (D_pos ns positive) as D0.
  assert (P : put e 0 < D) by (apply put_lt; auto). apply final_goal in E; auto.
  destruct (has_cases red e) as [|F]; auto. specialize (E e F).
  rewrite dig_zero, dig_put, Nat.eqb_refl in E by auto. discriminate.
Qed.

Lemma vary_big st e : In st p -> has (vary st) e = true -> big ns e.
Proof. intros Hi. rewrite Forall_forall in Hp. destruct (Hp st Hi) as [_ [G _]]. auto. Qed.
Lemma pin_big st e : In st p -> has (pin st) e = true -> big ns e.
Proof. intros Hi. rewrite Forall_forall in Hp. destruct (Hp st Hi) as [_ [_ [G _]]]. auto. Qed.

Lemma merge_in_red st e : In st p -> merging (what st) = true -> has (vary st) e = true -> has red e = true.
Proof.
  intros Hi Hm He. pose proof (vary_big st e Hi He) as B. pose proof (D_pos ns positive) as D0.
  assert (P : put e 0 < D) by (apply put_lt; auto).
  destruct (in_step st Hi) as [p1 [p2 E]]. destruct (at_step p1 st p2 E) as [inv [Hpr [Hl [Hp2 [Hl2 F]]]]].
  destruct (step_facts _ _ st inv Hpr Hl) as [_ [inv' [_ [Hmix _]]]].
  apply red_of; auto. rewrite F. apply (invariant_reached _ _ _ inv'); auto.
Qed.

Lemma merged_from q t e : has (merged (track_program q t)) e = true ->
  has (merged t) e = true \/ exists st, In st q /\ merging (what st) = true /\ has (vary st) e = true.
Proof.
  revert t. induction q as [|st q IH]; intros t E; simpl in *; auto.
  apply IH in E. destruct E as [E|[st' [Hi E]]]; [|right; exists st'; auto].
  destruct st as [V Z w]. unfold track_step in E. cbn [vary pin what] in E.
  destruct w; cbn [merged] in E; auto; apply or_cases in E; destruct E; auto;
    right; eexists; split; [left; reflexivity| |left; reflexivity| |left; reflexivity|]; auto.
Qed.

(* T3, first half: no step varies a digit outside the reduction. *)
Theorem within_reduction st e : In st p -> has (vary st) e = true -> has red e = true.
Proof.
  intros Hi He. destruct (in_step st Hi) as [p1 [p2 E]].
  destruct (at_step p1 st p2 E) as [inv [Hpr [Hl _]]].
  destruct (step_facts _ _ st inv Hpr Hl) as [Hn _].
  assert (G : merging (what st) = true \/ has (merged (track_program p1 start)) e = true).
  { unfold needs in Hn. destruct (what st); auto; right.
    - apply (i_narrowed _ _ _ _ inv), (i_scattered _ _ _ _ inv). apply Hn. auto.
    - apply Hn. auto. }
  destruct G as [G|G]; [apply (merge_in_red st); auto|].
  apply merged_from in G. destruct G as [G|[st' [Hi' [Hm He']]]].
  - cbn [start merged] in G. rewrite has_zero in G. discriminate.
  - apply (merge_in_red st'); auto. rewrite E. apply in_or_app. auto.
Qed.

Definition merges (e : nat) (st : step) : bool := merging (what st) && has (vary st) e.

Lemma merged_count q s t e : invariant ns k s t -> Forall (proper ns) q -> legal_program ns k q s = true ->
  length (filter (merges e) q) + Nat.b2n (has (merged t) e) = Nat.b2n (has (merged (track_program q t)) e).
Proof.
  revert s t. induction q as [|st q IH]; intros s t inv Hq Hl; simpl in *; auto.
  inversion Hq; subst. apply andb_true_iff in Hl. destruct Hl as [Hl Hl'].
  destruct (step_facts s t st inv) as [Hn [inv' _]]; auto.
  specialize (IH _ _ inv' (Forall_inv_tail Hq) Hl'). rewrite <- IH. unfold merges at 1 3.
  unfold needs in Hn. destruct st as [V Z w]. cbn [vary pin what] in *.
  unfold track_step. cbn [vary pin what]. 
  destruct w; cbn [merging merged andb]; auto;
    rewrite has_or; destruct (has V e) eqn:E; simpl; rewrite ?orb_false_r; auto;
    rewrite (proj1 Hn e E); simpl; lia.
Qed.

(* T3, second half: every reduction digit of size above 1 is varied by exactly one merging step. *)
Theorem merged_once e : has red e = true -> big ns e -> length (filter (merges e) p) = 1.
Proof.
  intros He B. pose proof (D_pos ns positive) as D0.
  assert (L : legal_program ns k p initial = true)
    by (unfold valid in Hvalid; apply andb_true_iff in Hvalid; tauto).
  pose proof (merged_count p initial start e (invariant_start ns k positive chunks) Hp L) as C.
  cbn [start merged] in C. rewrite has_zero in C. simpl in C.
  assert (P : put e 0 < D) by (apply put_lt; auto).
  assert (G : final 0 0 (put e 0) = true).
  { apply final_goal; auto. apply same_put; auto. }
  destruct (has_cases (merged (track_program p start)) e) as [E|E].
  - unfold start in *. rewrite E in C. simpl in C. lia.
  - apply (i_cover _ _ _ _ final_invariant _ _ _ e) in G; auto.
    rewrite dig_zero, dig_put, Nat.eqb_refl in G by auto. discriminate.
Qed.

Lemma merges_unique e st st' : In st p -> In st' p -> merges e st = true -> merges e st' = true -> st = st'.
Proof.
  intros Hi Hi' E E'. assert (L : length (filter (merges e) p) = 1).
  { apply andb_true_iff in E. destruct E as [_ E].
    apply merged_once; [apply (within_reduction st); auto|apply (vary_big st); auto]. }
  assert (A : In st (filter (merges e) p)) by (apply filter_In; auto).
  assert (A' : In st' (filter (merges e) p)) by (apply filter_In; auto).
  destruct (filter (merges e) p) as [|x [|y l]]; simpl in *; try lia.
  destruct A, A'; try tauto; congruence.
Qed.

Lemma pinned_allreduce st e : In st p -> has (pin st) e = true -> what st = AllReduce.
Proof.
  intros Hi He. rewrite Forall_forall in Hp. destruct (Hp st Hi) as [_ [_ [_ [_ G]]]]. apply G.
  apply nonzero_spec. eauto.
Qed.

Lemma vary_some st : In st p -> exists v, has (vary st) v = true.
Proof. intros Hi. rewrite Forall_forall in Hp. destruct (Hp st Hi) as [G _]. apply nonzero_spec, G. Qed.

(* ---- T4 ---- *)

(* Digits merged by steps that do not pin e. *)
Definition loose_step (e : nat) (st : step) (T : N) : N :=
  if merging (what st) && negb (has (pin st) e) then N.lor T (vary st) else T.
Fixpoint loose (e : nat) (q : list step) (T : N) : N :=
  match q with [] => T | st :: q' => loose e q' (loose_step e st T) end.

Lemma loose_from e q T x : has (loose e q T) x = true -> has T x = true \/
  exists st, In st q /\ merging (what st) = true /\ has (pin st) e = false /\ has (vary st) x = true.
Proof.
  revert T. induction q as [|st q IH]; intros T E; simpl in *; auto.
  apply IH in E. destruct E as [E|[st' [Hi E]]]; [|right; exists st'; auto].
  unfold loose_step in E. destruct (merging (what st)) eqn:M, (has (pin st) e) eqn:F; simpl in E; auto.
  apply or_cases in E. destruct E; auto. right. exists st. auto.
Qed.

Definition relative_cover (e0 : nat) (s : state) (t : track) (T : N) : Prop :=
  (forall x, has (scattered t) x = true -> has T x = true) /\
  (forall d r c x, d < D -> r < k -> c < D -> dig ns e0 d <> 0 -> s d r c = true ->
     has T x = false -> dig ns x c = dig ns x d).

Lemma relative_step e0 s t T st : invariant ns k s t -> proper ns st -> legal_step ns k st s = true ->
  has (vary st) e0 = false -> big ns e0 ->
  relative_cover e0 s t T -> relative_cover e0 (do_step ns k st s) (track_step st t) (loose_step e0 st T).
Proof.
  intros inv Hpr Hl Hv B [Hsc J]. destruct (step_facts s t st inv Hpr Hl) as [Hn [inv' _]].
  pose proof (D_pos ns positive) as D0.
  assert (Hpin : what st <> AllReduce -> has (pin st) e0 = false)
    by (intros Hw; rewrite (pin_zero ns st Hpr Hw); apply has_zero).
  assert (Mono : forall x, has T x = true -> has (loose_step e0 st T) x = true).
  { intros x Hx. unfold loose_step. destruct (merging _ && _); auto using or_left. }
  split.
  - intros x Hx. destruct st as [V Z w]. unfold track_step in Hx. cbn [vary pin what] in *.
    destruct w; cbn [scattered] in Hx; auto.
    + apply or_cases in Hx. destruct Hx; auto. unfold loose_step. cbn [vary pin what].
      rewrite Hpin by discriminate. cbn [merging andb negb]. apply or_right; auto.
    + apply diff_true in Hx. apply Mono. apply Hsc. tauto.
  - intros d r c x Hd Hr Hc Hne E Hx.
    assert (HxT : has T x = false).
    { destruct (has_cases T x) as [F|]; auto. apply Mono in F. congruence. }
    destruct (step_effect s st d r c Hpr Hd Hr E) as [[E1 _]|[z [y [Hy [Hs E1]]]]]; [eauto|].
    assert (Hp0 : has (pin st) e0 = false).
    { destruct (has_cases (pin st) e0) as [F|]; auto; destruct Hne; auto. }
    assert (Hy0 : dig ns e0 y <> 0) by (rewrite <- (Hs e0); auto).
    rewrite (J y r c x) by auto. symmetry. apply Hs.
    destruct (has_cases (vary st) x) as [F|]; auto. exfalso.
    unfold loose_step in Hx. rewrite Hp0 in Hx. pose proof Hn as Hn'. unfold needs in Hn'.
    destruct (what st) eqn:W; cbn [merging andb negb] in Hx;
      try (apply or_false in Hx; destruct Hx; congruence).
    + apply Hn', Hsc in F. congruence.
    + assert (Bx : big ns x) by (apply (proj1 (proj2 Hpr)); auto).
      assert (P0 : put e0 0 < D) by (apply put_lt; auto).
      assert (P : put x (put e0 0) < D) by (apply put_lt; auto).
      destruct (i_holder _ _ _ _ inv' _ P (broadcast_fills t st _ Hn W)) as [r' [Hr' Hh]].
      assert (G : do_step ns k st s (put x (put e0 0)) r' (put x (put e0 0)) = true)
        by (apply (i_coset _ _ _ _ inv'); auto using same_refl).
      rewrite broadcast_effect in G by auto.
      assert (M : mix (vary st) 0 (put x (put e0 0)) < D) by (apply mix_lt; auto).
      assert (Ne : x <> e0) by congruence.
      apply (J _ _ _ x) in G; auto.
      * rewrite dig_mix, F, dig_zero, dig_put, Nat.eqb_refl in G by auto. discriminate.
      * rewrite dig_mix, Hv, !dig_put by auto. destruct (Nat.eqb_spec e0 x); [congruence|].
        rewrite Nat.eqb_refl. discriminate.
Qed.

Lemma relative_reached e0 q s t T : invariant ns k s t -> Forall (proper ns) q ->
  legal_program ns k q s = true -> (forall st, In st q -> has (vary st) e0 = false) -> big ns e0 ->
  relative_cover e0 s t T -> relative_cover e0 (run ns k q s) (track_program q t) (loose e0 q T).
Proof.
  revert s t T. induction q as [|st q IH]; intros s t T inv Hq Hl Hv B J; simpl in *; auto.
  inversion Hq; subst. apply andb_true_iff in Hl. destruct Hl as [Hl Hl'].
  destruct (step_facts s t st inv) as [_ [inv' _]]; auto.
  apply IH; auto. apply relative_step; auto.
Qed.

(* T4: no step pins a digit outside the reduction. *)
Theorem pins_within_reduction st e0 : In st p -> has (pin st) e0 = true -> has red e0 = true.
Proof.
  intros Hi He. destruct (has_cases red e0) as [|Hred]; auto. exfalso.
  pose proof (D_pos ns positive) as D0. pose proof (pin_big st e0 Hi He) as B.
  assert (L : legal_program ns k p initial = true)
    by (unfold valid in Hvalid; apply andb_true_iff in Hvalid; tauto).
  assert (Hv : forall st', In st' p -> has (vary st') e0 = false).
  { intros st' Hi'. destruct (has_cases (vary st') e0) as [F|]; auto.
    apply within_reduction in F; auto. congruence. }
  assert (J : relative_cover e0 final (track_program p start) (loose e0 p 0)).
  { apply relative_reached; auto using invariant_start. split.
    - intros x Hx. cbn [start scattered] in Hx. rewrite has_zero in Hx. discriminate.
    - intros d r c x _ _ _ _ E _. apply Nat.eqb_eq in E. congruence. }
  destruct (vary_some st Hi) as [v Hv0].
  pose proof (vary_big st v Hi Hv0) as Bv. pose proof (within_reduction st v Hi Hv0) as Rv.
  assert (Ne : v <> e0) by (intros ->; rewrite (Hv st Hi) in Hv0; discriminate).
  assert (P0 : put e0 0 < D) by (apply put_lt; auto).
  assert (P : put v (put e0 0) < D) by (apply put_lt; auto).
  assert (G : final (put e0 0) 0 (put v (put e0 0)) = true)
    by (apply final_goal; auto; apply same_put; auto).
  assert (T : has (loose e0 p 0) v = true).
  { destruct (has_cases (loose e0 p 0) v) as [|F]; auto. exfalso.
    apply (proj2 J _ _ _ v) in G; auto.
    - rewrite !dig_put, Nat.eqb_refl, dig_zero in G by auto. destruct (Nat.eqb_spec v e0); [congruence|discriminate].
    - rewrite dig_put, Nat.eqb_refl by auto. discriminate. }
  apply loose_from in T. destruct T as [T|[st' [Hi' [Hm [Hpin Hv']]]]].
  - rewrite has_zero in T. discriminate.
  - assert (st = st'); [|subst; congruence].
    apply (merges_unique v); auto; unfold merges.
    + rewrite (pinned_allreduce st e0), Hv0; auto.
    + rewrite Hm, Hv'. auto.
Qed.

(* ---- T5 and T6 ---- *)

(* A digit v merged by AllReduce alone is varied later by Broadcasts only. *)
Definition settled (v : nat) (t : track) : Prop := has (merged t) v = true /\ has (narrowed t) v = false.

Lemma settled_step v t st : needs t st -> settled v t -> settled v (track_step st t).
Proof.
  intros Hn [M N0]. unfold settled, track_step. unfold needs in Hn.
  destruct st as [V Z w]. cbn [vary pin what] in *.
  assert (F : (forall e, has V e = true -> has (merged t) e = false) -> has V v = false).
  { intros G. destruct (has_cases V v) as [E|]; auto. apply G in E. congruence. }
  destruct w; cbn [merged narrowed]; auto; try (rewrite !has_or, M, N0, F; tauto); rewrite ?has_or, ?M; auto.
Qed.

Lemma settled_varied v s t st : invariant ns k s t -> needs t st -> settled v t -> has (vary st) v = true ->
  what st = Broadcast.
Proof.
  intros inv Hn [M N0] Hv. unfold needs in Hn. destruct (what st); auto; exfalso.
  - rewrite (proj1 Hn v Hv) in M. discriminate.
  - rewrite (proj1 Hn v Hv) in M. discriminate.
  - apply (proj2 Hn), (i_scattered _ _ _ _ inv) in Hv. congruence.
  - rewrite (proj1 Hn v Hv) in M. discriminate.
Qed.

Definition tied (e v : nat) (s : state) : Prop :=
  forall d r c, d < D -> r < k -> c < D -> s d r c = true -> dig ns e c <> 0 -> dig ns v c = dig ns v d.

Lemma tied_step e v s t st : invariant ns k s t -> proper ns st -> legal_step ns k st s = true ->
  settled v t -> big ns e -> big ns v -> e <> v -> tied e v s -> tied e v (do_step ns k st s).
Proof.
  intros inv Hpr Hl Hset Be Bv Ne J. destruct (step_facts s t st inv Hpr Hl) as [Hn [inv' _]].
  pose proof (D_pos ns positive) as D0. intros d r c Hd Hr Hc E Hne.
  destruct (step_effect s st d r c Hpr Hd Hr E) as [[E1 _]|[z [y [Hy [Hs E1]]]]]; [eauto|].
  rewrite (J y r c) by auto. symmetry. apply Hs.
  destruct (has_cases (vary st) v) as [F|]; auto. exfalso.
  pose proof (settled_varied v s t st inv Hn Hset F) as W.
  assert (P0 : put v 0 < D) by (apply put_lt; auto).
  assert (P : put e (put v 0) < D) by (apply put_lt; auto).
  destruct (i_holder _ _ _ _ inv' _ P (broadcast_fills t st _ Hn W)) as [r' [Hr' Hh]].
  assert (G : do_step ns k st s (put e (put v 0)) r' (put e (put v 0)) = true)
    by (apply (i_coset _ _ _ _ inv'); auto using same_refl).
  rewrite broadcast_effect in G by auto.
  assert (M : mix (vary st) 0 (put e (put v 0)) < D) by (apply mix_lt; auto).
  apply J in G; auto.
  rewrite dig_mix, F, dig_zero, !dig_put, !Nat.eqb_refl in G by auto.
  destruct (Nat.eqb_spec v e); [congruence|]. discriminate G. discriminate.
Qed.

Lemma tied_reached e v q s t : invariant ns k s t -> Forall (proper ns) q -> legal_program ns k q s = true ->
  settled v t -> big ns e -> big ns v -> e <> v -> tied e v s -> tied e v (run ns k q s).
Proof.
  revert s t. induction q as [|st q IH]; intros s t inv Hq Hl Hset Be Bv Ne J; simpl in *; auto.
  inversion Hq; subst. apply andb_true_iff in Hl. destruct Hl as [Hl Hl'].
  destruct (step_facts s t st inv) as [Hn [inv' _]]; auto.
  apply (IH _ (track_step st t)); auto using settled_step. apply (tied_step e v s t); auto.
Qed.

(* What a pinned step varies is settled after it. *)
Lemma pinned_settled s t st v e : invariant ns k s t -> needs t st -> what st = AllReduce ->
  has (pin st) e = true -> has (vary st) v = true -> settled v (track_step st t).
Proof.
  intros inv Hn W He Hv. unfold settled, track_step. unfold needs in Hn. rewrite W in *.
  cbn [merged narrowed]. split; [apply or_right; auto|].
  destruct (has_cases (narrowed t) v) as [F|]; auto. apply (i_narrowed _ _ _ _ inv) in F.
  rewrite (proj1 Hn v Hv) in F. discriminate.
Qed.

(* T5: what a step pins is merged before. *)
Theorem pins_merged p1 st p2 e : p = p1 ++ st :: p2 -> has (pin st) e = true ->
  has (merged (track_program p1 start)) e = true.
Proof.
  intros Ep He. destruct (has_cases (merged (track_program p1 start)) e) as [|Hm]; auto. exfalso.
  pose proof (D_pos ns positive) as D0.
  assert (Hi : In st p) by (rewrite Ep; apply in_or_app; right; left; auto).
  destruct (at_step p1 st p2 Ep) as [inv [Hpr [Hl [Hp2 [Hl2 F]]]]].
  set (s := run ns k p1 initial) in *. set (t := track_program p1 start) in *.
  destruct (step_facts s t st inv Hpr Hl) as [Hn [inv' _]].
  pose proof (pinned_allreduce st e Hi He) as W. destruct (vary_some st Hi) as [v Hv].
  pose proof (vary_big st v Hi Hv) as Bv. pose proof (pin_big st e Hi He) as Be.
  assert (Hap : apart (vary st) (pin st) = true) by apply Hpr.
  assert (Ne : e <> v).
  { intros ->. rewrite apart_spec in Hap. apply Hap in Hv. congruence. }
  assert (Hvm : has (merged t) v = false) by (unfold needs in Hn; rewrite W in Hn; apply Hn; auto).
  assert (J : tied e v (do_step ns k st s)).
  { intros d r c Hd Hr Hc E Hne.
    destruct (step_effect s st d r c Hpr Hd Hr E) as [[E1 _]|[z [y [Hy [Hs E1]]]]].
    - apply (i_cover _ _ _ _ inv d r c v); auto.
    - destruct Hne. rewrite (i_cover _ _ _ _ inv y r c e) by auto.
      apply (zero_same ns _ _ Hap d y); auto. }
  assert (K : tied e v final).
  { rewrite F. apply (tied_reached e v p2 _ (track_step st t)); auto.
    apply (pinned_settled s t st v e); auto. }
  assert (P0 : put v 0 < D) by (apply put_lt; auto).
  assert (P : put e (put v 0) < D) by (apply put_lt; auto).
  assert (G : final 0 0 (put e (put v 0)) = true).
  { apply final_goal; auto.
    apply (same_trans ns red 0 (put v 0)); apply same_put; auto;
      [apply (within_reduction st)|apply (pins_within_reduction st)]; auto. }
  apply K in G; auto.
  rewrite !dig_put, !Nat.eqb_refl, dig_zero in G by auto.
  destruct (Nat.eqb_spec v e); [congruence|]. discriminate G. discriminate.
Qed.

Definition frozen (v r : nat) (s : state) : Prop :=
  (exists d, d < D /\ H s d r) /\
  (forall d c, d < D -> c < D -> s d r c = true -> dig ns v c = dig ns v d).

Lemma frozen_step v r s t st : invariant ns k s t -> proper ns st -> legal_step ns k st s = true ->
  settled v t -> r < k -> big ns v -> frozen v r s -> frozen v r (do_step ns k st s).
Proof.
  intros inv Hpr Hl Hset Hr Bv [[d0 [Hd0 Hh0]] J].
  destruct (step_facts s t st inv Hpr Hl) as [Hn [inv' [_ [_ Hex]]]].
  pose proof (D_pos ns positive) as D0. split; [eauto|]. intros d c Hd Hc E.
  destruct (step_effect s st d r c Hpr Hd Hr E) as [[E1 _]|[z [y [Hy [Hs E1]]]]]; [eauto|].
  rewrite (J y c) by auto. symmetry. apply Hs.
  destruct (has_cases (vary st) v) as [F|]; auto. exfalso.
  pose proof (settled_varied v s t st inv Hn Hset F) as W.
  destruct (Hex d0 r Hd0 Hr Hh0) as [x [Hx Hh]].
  assert (P : put v x < D) by (apply put_lt; auto).
  assert (Hh' : H (do_step ns k st s) (put v x) r).
  { apply (i_same _ _ _ _ inv' x); auto. 
    - apply (broadcast_fills t); auto.
    - intros y' Hy'. rewrite dig_put by auto. destruct (Nat.eqb_spec y' v); auto. subst.
      destruct (settled_step v t st Hn Hset) as [_ Q].
      apply (i_scattered _ _ _ _ inv') in Hy'. congruence. }
  assert (G : do_step ns k st s (put v x) r (put v x) = true)
    by (apply (i_coset _ _ _ _ inv'); auto using same_refl).
  rewrite broadcast_effect in G by auto.
  assert (M : mix (vary st) 0 (put v x) < D) by (apply mix_lt; auto).
  apply J in G; auto. rewrite dig_mix, F, dig_zero, dig_put, Nat.eqb_refl in G by auto. discriminate.
Qed.

Lemma frozen_reached v r q s t : invariant ns k s t -> Forall (proper ns) q -> legal_program ns k q s = true ->
  settled v t -> r < k -> big ns v -> frozen v r s -> frozen v r (run ns k q s).
Proof.
  revert s t. induction q as [|st q IH]; intros s t inv Hq Hl Hset Hr Bv J; simpl in *; auto.
  inversion Hq; subst. apply andb_true_iff in Hl. destruct Hl as [Hl Hl'].
  destruct (step_facts s t st inv) as [Hn [inv' _]]; auto.
  apply (IH _ (track_step st t)); auto using settled_step. apply (frozen_step v r s t); auto.
Qed.

(* T6: what a step pins is not scattered. *)
Theorem pins_whole p1 st p2 e : p = p1 ++ st :: p2 -> has (pin st) e = true ->
  has (scattered (track_program p1 start)) e = false.
Proof.
  intros Ep He. destruct (has_cases (scattered (track_program p1 start)) e) as [Hsc|]; auto. exfalso.
  pose proof (D_pos ns positive) as D0.
  assert (Hi : In st p) by (rewrite Ep; apply in_or_app; right; left; auto).
  destruct (at_step p1 st p2 Ep) as [inv [Hpr [Hl [Hp2 [Hl2 F]]]]].
  set (s := run ns k p1 initial) in *. set (t := track_program p1 start) in *.
  destruct (step_facts s t st inv Hpr Hl) as [Hn [inv' [_ [_ Hex]]]].
  pose proof (pinned_allreduce st e Hi He) as W. destruct (vary_some st Hi) as [v Hv].
  pose proof (vary_big st v Hi Hv) as Bv. pose proof (pin_big st e Hi He) as Be.
  assert (Hap : apart (vary st) (pin st) = true) by apply Hpr.
  assert (Hvm : has (merged t) v = false) by (unfold needs in Hn; rewrite W in Hn; apply Hn; auto).
  assert (Pe : put e 0 < D) by (apply put_lt; auto).
  assert (Ze : zero (reduced t) (put e 0)).
  { apply zero_put; auto using zero_corner. destruct (has_cases (reduced t) e) as [Q|]; auto.
    apply (i_separate _ _ _ _ inv) in Q. congruence. }
  destruct (i_holder _ _ _ _ inv _ Pe Ze) as [r [Hr Hh]].
  assert (J : frozen v r (do_step ns k st s)).
  { split; [eauto|]. intros d c Hd Hc E.
    destruct (step_effect s st d r c Hpr Hd Hr E) as [[E1 _]|[z [y [Hy [Hs E1]]]]].
    - apply (i_cover _ _ _ _ inv d r c v); auto.
    - exfalso. assert (Hy0 : dig ns e y = 0) by (apply (zero_same ns _ _ Hap d y); auto).
      pose proof (i_apart _ _ _ _ inv (put e 0) y r e Pe Hy Hr Hh (H_intro ns s y r c Hc E1) Hsc) as Q.
      rewrite dig_put, Nat.eqb_refl, Hy0 in Q by auto. discriminate. }
  assert (K : frozen v r final).
  { rewrite F. apply (frozen_reached v r p2 _ (track_step st t)); auto.
    apply (pinned_settled s t st v e); auto. }
  assert (P0 : put v 0 < D) by (apply put_lt; auto).
  assert (G : final 0 r (put v 0) = true).
  { apply final_goal; auto. apply same_put; auto. apply (within_reduction st); auto. }
  apply (proj2 K) in G; auto. rewrite dig_put, Nat.eqb_refl, dig_zero in G by auto. discriminate.
Qed.

End Valid.
End Pins.
