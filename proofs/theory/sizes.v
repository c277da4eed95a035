(* T8: what follows from the machine: validity depends neither on the sizes of the levels nor on the
   number of chunks nor on the other classes; no valid program over L digits has more than 2 L steps;
   and the complete lists of valid programs, computed. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights
  machine equivalence.
Import ListNotations.

Definition multiple (k : nat) (ns : list nat) : Prop := 0 < k /\ exists q, k = q * product ns.

(* ---- size independence ---- *)

Theorem size_independence ns ns' k k' red p :
  positive_sizes ns -> positive_sizes ns' -> multiple k ns -> multiple k' ns' ->
  (forall e, big ns e <-> big ns' e) -> (forall e, has red e = true -> big ns e) ->
  Forall (proper ns) p -> valid ns k red p = valid ns' k' red p.
Proof.
  intros P P' [K Q] [K' Q'] B R Hp.
  assert (Hp' : Forall (proper ns') p).
  { eapply Forall_impl; [|exact Hp]. intros st [A1 [A2 [A3 [A4 A5]]]]. repeat split; auto;
      intros e He; apply B; auto. }
  rewrite (machine_equivalence ns k), (machine_equivalence ns' k'); auto.
  intros e He. apply B; auto.
Qed.

(* The system that is one reduction class: sizes outside red are 1. *)
Fixpoint class_of (red : nat -> bool) (ns : list nat) : list nat :=
  match ns with
  | [] => []
  | n :: ns' => (if red 0 then n else 1) :: class_of (fun e => red (S e)) ns'
  end.

Lemma size_class red ns e : size (class_of red ns) e = if red e then size ns e else 1.
Proof.
  revert red e. induction ns as [|n ns IH]; intros red e; simpl.
  - unfold size. destruct e, (red _); auto.
  - destruct e; auto. apply (IH (fun e => red (S e)) e).
Qed.

Lemma class_positive red ns : positive_sizes ns -> positive_sizes (class_of red ns).
Proof.
  revert red. induction ns as [|n ns IH]; intros red P x Hx; simpl in *; [tauto|].
  destruct Hx as [<-|Hx].
  - destruct (red 0); auto. apply P. left. auto.
  - apply (IH (fun e => red (S e))); auto. eapply positive_tail; eauto.
Qed.

Theorem class_independence ns k k' red p :
  positive_sizes ns -> multiple k ns -> multiple k' (class_of (has red) ns) ->
  (forall e, has red e = true -> big ns e) -> Forall (proper ns) p ->
  (valid ns k red p = true <->
   Forall (fun st => forall e, has (vary st) e = true \/ has (pin st) e = true -> has red e = true) p /\
   valid (class_of (has red) ns) k' red p = true).
Proof.
  intros P [K Q] [K' Q'] R Hp. pose proof (class_positive (has red) ns P) as P'.
  assert (G : Forall (fun st => forall e, has (vary st) e = true \/ has (pin st) e = true -> has red e = true) p ->
    Forall (proper (class_of (has red) ns)) p).
  { rewrite !Forall_forall in *. intros F st Hi. destruct (Hp st Hi) as [A1 [A2 [A3 [A4 A5]]]].
    repeat split; auto; intros e He; unfold big; rewrite size_class, (F st Hi e) by auto;
      [apply A2|apply A3]; auto. }
  assert (R' : forall e, has red e = true -> big (class_of (has red) ns) e).
  { intros e He. unfold big. rewrite size_class, He. apply R; auto. }
  split.
  - intros V. assert (F : Forall (fun st => forall e, has (vary st) e = true \/ has (pin st) e = true -> has red e = true) p).
    { rewrite Forall_forall. intros st Hi e [He|He].
      - apply (within_reduction ns k P K red p Hp V st); auto.
      - apply (pins_within_reduction ns k P K red p Hp V st); auto. }
    split; auto. rewrite (machine_equivalence _ k'), <- (machine_equivalence ns k); auto.
  - intros [F V]. rewrite (machine_equivalence ns k), <- (machine_equivalence _ k' P' K' Q' red R' p); auto.
Qed.

(* ---- length ---- *)

Definition card (l : nat) (V : N) : nat := count l (has V).

Lemma card_or l V W : (forall e, has V e = true -> has W e = false) -> card l (N.lor V W) = card l V + card l W.
Proof.
  intros A. unfold card. rewrite <- (count_or l (has V) (has W)).
  - apply count_ext. intros e _. apply has_or.
  - intros e _ E F. rewrite A in F; [discriminate|auto].
Qed.

Lemma card_same l V W : (forall e, has V e = has W e) -> card l V = card l W.
Proof. intros A. apply count_ext. auto. Qed.

Lemma card_diff l V W : (forall e, has W e = true -> has V e = true) -> card l (N.ldiff V W) + card l W = card l V.
Proof.
  intros A. rewrite <- card_or.
  - apply card_same. intros e. rewrite has_or, has_diff. specialize (A e).
    destruct (has V e), (has W e); simpl; auto; symmetry; auto.
  - intros e He. apply diff_true in He. tauto.
Qed.

Lemma card_pos l V : V <> 0%N -> (forall e, has V e = true -> e < l) -> 1 <= card l V.
Proof.
  intros Hn Hl. apply nonzero_spec in Hn. destruct Hn as [e He].
  destruct (Nat.eq_dec (card l V) 0) as [E|]; [|lia]. unfold card in E. rewrite count_zero in E.
  rewrite E in He by auto. discriminate.
Qed.

Lemma card_or_le l V W : card l (N.lor V W) <= card l V + card l W.
Proof.
  unfold card. induction l; [auto|]. rewrite !count_S, has_or. destruct (has V l), (has W l); simpl; lia.
Qed.

Definition busy (m : mstate) : nat := Nat.b2n (negb (is_zero (mR m))) + length (mP m).

Lemma waiting_length V l : length (waiting V l) <= length l /\
  (forallb (fun wy => negb (subset (snd wy) V)) l = false -> length (waiting V l) < length l).
Proof.
  unfold waiting. rewrite map_length. induction l as [|[W Y] l [IH1 IH2]]; simpl; [split; [auto|discriminate]|].
  destruct (subset Y V); simpl; split; try lia. intros E. specialize (IH2 E). lia.
Qed.

(* Every step uses up some of twice the merged digits. *)
Lemma step_uses l st m m' : vary st <> 0%N -> (forall e, has (vary st) e = true -> e < l) ->
  mstep st m = Some m' ->
  1 + card l (mS m') + busy m' + 2 * card l (mT m) <= card l (mS m) + busy m + 2 * card l (mT m').
Proof.
  intros Hn Hl Hm. pose proof (card_pos l _ Hn Hl) as C. unfold mstep in Hm.
  assert (TT : forall S' R', card l (mT (MState S' R' (N.lor (mB m) (vary st)) (mP m))) =
            card l (N.lor (mT m) (vary st))).
  { intros. apply card_same. intros e. unfold mT. cbn [mB mP]. rewrite !has_or.
    destruct (has (mB m) e), (has (vary st) e), (has (union_of (mP m)) e); auto. }
  assert (TV : apart (vary st) (mT m) = true -> card l (N.lor (mT m) (vary st)) = card l (mT m) + card l (vary st)).
  { intros A. rewrite apart_spec in A. apply card_or. intros e He.
    destruct (has_cases (vary st) e) as [Q|]; auto. apply A in Q. congruence. }
  destruct (what st).
  - destruct (_ && _) eqn:E in Hm; [|discriminate]. rewrite !andb_true_iff in E.
    destruct E as [[[E1 _] _] _]. specialize (TV E1). injection Hm as <-. destruct (N.eqb (mR m) (pin st)).
    + rewrite TT, TV. unfold busy. cbn [mS mR mP]. lia.
    + assert (Q : card l (mT (MState (mS m) (mR m) (mB m) ((vary st, pin st) :: mP m))) =
                  card l (N.lor (mT m) (vary st))).
      { apply card_same. intros e. unfold mT. cbn [mB mP union_of fold_right fst]. rewrite !has_or.
        fold (union_of (mP m)). destruct (has (mB m) e), (has (vary st) e), (has (union_of (mP m)) e); auto. }
      rewrite Q, TV. unfold busy. cbn [mS mR mP length]. lia.
  - destruct (_ && _) eqn:E in Hm; [|discriminate]. apply andb_true_iff in E. destruct E as [E1 _].
    specialize (TV E1). injection Hm as <-. rewrite TT, TV. unfold busy. cbn [mS mR mP].
    pose proof (card_or_le l (mS m) (vary st)). lia.
  - destruct (_ && _) eqn:E in Hm; [|discriminate]. apply andb_true_iff in E. destruct E as [_ E1].
    rewrite subset_spec in E1. injection Hm as <-. pose proof (card_diff l (mS m) (vary st) E1).
    unfold busy, mT. cbn [mS mR mB mP]. lia.
  - destruct (_ && _) eqn:E in Hm; [|discriminate]. apply andb_true_iff in E. destruct E as [E1 E2].
    specialize (TV E1). injection Hm as <-. rewrite TT, TV. unfold busy. cbn [mS mR mP]. rewrite E2.
    destruct (is_zero (vary st)); simpl; lia.
  - destruct (_ && _) eqn:E in Hm; [|discriminate]. rewrite !andb_true_iff in E. destruct E as [_ E4].
    injection Hm as <-.
    assert (Q : card l (mT (MState (mS m) 0 (N.lor (mB m) (union_of (active (vary st) (mP m))))
        (waiting (vary st) (mP m)))) = card l (mT m)) by (apply card_same; intros e; apply broadcast_T).
    rewrite Q.
    unfold busy. cbn [mS mR mP]. destruct (waiting_length (vary st) (mP m)) as [W1 W2].
    change (is_zero 0) with true. simpl Nat.b2n. apply orb_true_iff in E4. destruct E4 as [E4|E4].
    + rewrite E4. simpl. lia.
    + apply negb_true_iff in E4. specialize (W2 E4). lia.
Qed.

Lemma run_uses l p m m' : Forall (fun st => vary st <> 0%N /\ (forall e, has (vary st) e = true -> e < l)) p ->
  mrun p m = Some m' ->
  length p + card l (mS m') + busy m' + 2 * card l (mT m) <= card l (mS m) + busy m + 2 * card l (mT m').
Proof.
  revert m. induction p as [|st p IH]; intros m Hp Hm; simpl in *; [injection Hm as <-; lia|].
  destruct (mstep st m) as [m1|] eqn:E; [|discriminate].
  destruct (Forall_inv Hp) as [A B]. pose proof (step_uses l st m m1 A B E).
  specialize (IH m1 (Forall_inv_tail Hp) Hm). lia.
Qed.

Lemma big_lt ns e : big ns e -> e < length ns.
Proof.
  unfold big, size. intros B. destruct (Nat.lt_ge_cases e (length ns)); auto.
  rewrite nth_overflow in B by auto. lia.
Qed.

(* No valid program has more than two steps for every reduction digit of size above 1. *)
Theorem length_bound ns k red p : positive_sizes ns -> multiple k ns ->
  (forall e, has red e = true -> big ns e) -> Forall (proper ns) p -> valid ns k red p = true ->
  length p <= 2 * card (length ns) red.
Proof.
  intros P [K Q] R Hp V. rewrite (machine_equivalence ns k) in V by auto. unfold accepts in V.
  destruct (mrun p mstart) as [m|] eqn:E; [|discriminate].
  assert (F : Forall (fun st => vary st <> 0%N /\ (forall e, has (vary st) e = true -> e < length ns)) p).
  { eapply Forall_impl; [|exact Hp]. intros st [A [B _]]. split; auto. intros e He. apply big_lt; auto. }
  pose proof (run_uses (length ns) p mstart m F E) as U.
  unfold accepting in V. rewrite !andb_true_iff, !is_zero_spec, N.eqb_eq in V.
  destruct V as [[[VS VR] VB] VP]. destruct (mP m) eqn:EP; [|discriminate].
  assert (T0 : card (length ns) (mT mstart) = 0) by (apply count_zero; auto using has_zero).
  assert (S0 : card (length ns) (mS mstart) = 0) by (apply count_zero; auto using has_zero).
  assert (TR : card (length ns) (mT m) = card (length ns) red).
  { apply card_same. intros e. unfold mT. rewrite EP, VB. cbn [union_of fold_right]. rewrite has_or, has_zero.
    apply orb_false_r. }
  change (busy mstart) with 0 in U. lia.
Qed.

(* ---- the complete list of valid programs ---- *)

Fixpoint programs_from (choices : list step) (red : N) (n : nat) (m : mstate) : list (list step) :=
  (if accepting red m then [[]] else []) ++
  match n with
  | 0 => []
  | S n' => flat_map (fun st => match mstep st m with
                                | Some m' => map (cons st) (programs_from choices red n' m')
                                | None => []
                                end) choices
  end.

Lemma programs_from_spec choices red n m p : In p (programs_from choices red n m) <->
  (length p <= n /\ Forall (fun st => In st choices) p /\
   match mrun p m with Some m' => accepting red m' = true | None => False end).
Proof.
  revert m p. induction n as [|n IH]; intros m p; cbn [programs_from].
  - rewrite app_nil_r. destruct p as [|st p]; simpl.
    + destruct (accepting red m); simpl; split; try tauto; try (intros [? [? ?]]; congruence).
      intros _. auto.
    + destruct (accepting red m); simpl; split; intros G; try tauto; try (destruct G as [G|[]]; discriminate); lia.
  - rewrite in_app_iff, in_flat_map. destruct p as [|st p]; simpl.
    + split.
      * intros [G|[st [_ G]]].
        -- destruct (accepting red m); [|destruct G]. split; [lia|auto].
        -- destruct (mstep st m); [|destruct G]. apply in_map_iff in G. destruct G as [q [G _]]. discriminate.
      * intros [_ [_ G]]. left. rewrite G. left. auto.
    + split.
      * intros [G|[st' [Hi G]]]; [destruct (accepting red m); [destruct G as [G|[]]; discriminate|destruct G]|].
        destruct (mstep st' m) as [m'|] eqn:E; [|destruct G]. apply in_map_iff in G. destruct G as [q [G Hq]].
        injection G as -> ->. apply IH in Hq. destruct Hq as [L [F A]]. rewrite E. split; [lia|]. auto.
      * intros [L [F A]]. right. exists st. split; [apply (Forall_inv F)|].
        destruct (mstep st m) as [m'|] eqn:E; [|destruct A]. apply in_map. apply IH.
        split; [lia|]. split; auto. apply (Forall_inv_tail F).
Qed.

Definition programs_of (choices : list step) (red : N) (n : nat) : list (list step) :=
  programs_from choices red n mstart.

(* All valid programs of at most n of these steps, for every size and every number of chunks. *)
Theorem complete_list ns k red choices n p : positive_sizes ns -> multiple k ns ->
  (forall e, has red e = true -> big ns e) -> Forall (proper ns) choices ->
  (In p (programs_of choices red n) <->
   length p <= n /\ Forall (fun st => In st choices) p /\ valid ns k red p = true).
Proof.
  intros P [K Q] R Hc. unfold programs_of. rewrite programs_from_spec.
  split; intros [L [F A]]; (split; [auto|split; [auto|]]);
    (assert (Hp : Forall (proper ns) p)
       by (rewrite Forall_forall in *; intros st Hi; apply Hc, F, Hi)).
  - rewrite (machine_equivalence ns k); auto. unfold accepts. destruct (mrun p mstart); [auto|tauto].
  - rewrite (machine_equivalence ns k) in A; auto. unfold accepts in A. destruct (mrun p mstart); [auto|discriminate].
Qed.

(* The same where the steps are those of some kind that are steps of dialect published. *)
Theorem complete_choices (kind : step -> Prop) ns k red choices n p : positive_sizes ns -> multiple k ns ->
  (forall e, has red e = true -> big ns e) -> (forall st, In st choices <-> kind st /\ proper ns st) ->
  (In p (programs_of choices red n) <->
   length p <= n /\ Forall (fun st => kind st /\ proper ns st) p /\ valid ns k red p = true).
Proof.
  intros P K R Hc. rewrite (complete_list ns k red choices n p P K R).
  - split; intros [L [F V]]; (split; [auto|split; [|auto]]);
      (eapply Forall_impl; [|exact F]; intros st; apply Hc).
  - rewrite Forall_forall. intros st Hi. apply Hc in Hi. tauto.
Qed.
