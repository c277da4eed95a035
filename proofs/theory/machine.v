(* T7: the valid programs are the accepted runs of a machine that knows no sizes. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights.
Import ListNotations.

(* Scattered digits; reduced digits; digits that every holder has; pending Masters (W, Y): holders
   whose Y-digits are 0 have W as well. *)
Record mstate := MState { mS : N; mR : N; mB : N; mP : list (N * N) }.
Definition mstart : mstate := MState 0 0 0 [].

Definition union_of (l : list (N * N)) : N := fold_right (fun wy a => N.lor (fst wy) a) 0%N l.
Definition active (V : N) (l : list (N * N)) : list (N * N) := filter (fun wy => subset (snd wy) V) l.
Definition waiting (V : N) (l : list (N * N)) : list (N * N) :=
  map (fun wy => (fst wy, N.ldiff (snd wy) V)) (filter (fun wy => negb (subset (snd wy) V)) l).
Definition mT (m : mstate) : N := N.lor (mB m) (union_of (mP m)).
Definition is_zero (V : N) : bool := N.eqb V 0.

Definition mstep (st : step) (m : mstate) : option mstate :=
  let V := vary st in
  let Z := pin st in
  match what st with
  | AllReduce =>
      if apart V (mT m) && subset (mR m) Z && subset Z (mT m) && apart Z (mS m) then
        Some (if N.eqb (mR m) Z then MState (mS m) (mR m) (N.lor (mB m) V) (mP m)
              else MState (mS m) (mR m) (mB m) ((V, Z) :: mP m))
      else None
  | ReduceScatter =>
      if apart V (mT m) && is_zero (mR m) then
        Some (MState (N.lor (mS m) V) (mR m) (N.lor (mB m) V) (mP m))
      else None
  | Reduce =>
      if apart V (mT m) && is_zero (mR m) then Some (MState (mS m) V (N.lor (mB m) V) (mP m)) else None
  | AllGather =>
      if is_zero (mR m) && subset V (mS m) then Some (MState (N.ldiff (mS m) V) (mR m) (mB m) (mP m)) else None
  | Broadcast =>
      if subset (mR m) V && apart V (mS m) &&
         subset (N.ldiff V (mR m)) (N.lor (mB m) (union_of (active V (mP m)))) &&
         (negb (is_zero (mR m)) || negb (forallb (fun wy => negb (subset (snd wy) V)) (mP m))) then
        Some (MState (mS m) 0 (N.lor (mB m) (union_of (active V (mP m)))) (waiting V (mP m)))
      else None
  end.

Fixpoint mrun (p : list step) (m : mstate) : option mstate :=
  match p with
  | [] => Some m
  | st :: p' => match mstep st m with Some m' => mrun p' m' | None => None end
  end.

Definition accepting (red : N) (m : mstate) : bool :=
  is_zero (mS m) && is_zero (mR m) && N.eqb (mB m) red &&
  match mP m with [] => true | _ => false end.

Definition accepts (red : N) (p : list step) : bool :=
  match mrun p mstart with Some m => accepting red m | None => false end.

Lemma is_zero_spec V : is_zero V = true <-> V = 0%N.
Proof. apply N.eqb_eq. Qed.

Lemma union_spec l e : has (union_of l) e = true <-> exists W Y, In (W, Y) l /\ has W e = true.
Proof.
  induction l as [|[W Y] l IH]; cbn [union_of fold_right fst In].
  - rewrite has_zero. split; [discriminate|]. intros [W [Y [[] _]]].
  - fold (union_of l). rewrite has_or, orb_true_iff, IH. split.
    + intros [E|[W' [Y' [Hi E]]]]; [exists W, Y|exists W', Y']; auto.
    + intros [W' [Y' [[E|Hi] E']]]; [left; congruence|right; eauto].
Qed.

Lemma mT_spec m e : has (mT m) e = true <-> has (mB m) e = true \/ exists W Y, In (W, Y) (mP m) /\ has W e = true.
Proof. unfold mT. rewrite has_or, orb_true_iff, union_spec. reflexivity. Qed.

Lemma in_active V l W Y : In (W, Y) (active V l) <-> In (W, Y) l /\ subset Y V = true.
Proof. unfold active. rewrite filter_In. reflexivity. Qed.

Lemma in_waiting V l W Y : In (W, Y) (waiting V l) <->
  exists Y', In (W, Y') l /\ subset Y' V = false /\ Y = N.ldiff Y' V.
Proof.
  unfold waiting. rewrite in_map_iff. split.
  - intros [[W' Y'] [E Hi]]. apply filter_In in Hi. cbn [fst snd] in *. destruct Hi as [Hi Hn].
    apply negb_true_iff in Hn. injection E as -> <-. eauto.
  - intros [Y' [Hi [Hn ->]]]. exists (W, Y'). split; auto. apply filter_In. cbn [snd]. rewrite Hn. auto.
Qed.

Section Machine.
Variable ns : list nat.
Variable k : nat.
Notation D := (product ns).
Notation same := (same ns).
Notation zero := (zero ns).
Notation zerob := (zerob ns).
Notation mix := (mix ns).
Notation put := (put ns).
Notation H := (H ns).
Hypothesis positive : positive_sizes ns.
Hypothesis chunks : 0 < k.
Hypothesis divides : exists q, k = q * D.

(* The digits outside which the contributors in the chunks of d agree with d. *)
Definition alpha (m : mstate) (d e : nat) : bool :=
  has (mB m) e || existsb (fun wy => has (fst wy) e && zerob (snd wy) d) (mP m).

Lemma alpha_spec m d e : alpha m d e = true <->
  has (mB m) e = true \/ exists W Y, In (W, Y) (mP m) /\ has W e = true /\ zero Y d.
Proof.
  unfold alpha. rewrite orb_true_iff, existsb_exists. apply or_iff_compat_l. split.
  - intros [[W Y] [Hi E]]. apply andb_true_iff in E. rewrite zerob_spec in E. exists W, Y. auto.
  - intros [W [Y [Hi E]]]. exists (W, Y). split; auto. apply andb_true_iff. rewrite zerob_spec. auto.
Qed.

Record well (m : mstate) : Prop := {
  w_S : forall e, has (mS m) e = true -> has (mB m) e = true;
  w_R : forall e, has (mR m) e = true -> has (mB m) e = true;
  w_B : forall e, has (mB m) e = true -> big ns e;
  w_W : forall W Y, In (W, Y) (mP m) -> W <> 0%N /\ Y <> 0%N;
  w_fresh : forall W Y e, In (W, Y) (mP m) -> has W e = true ->
    has (mB m) e = false /\ has Y e = false /\ big ns e;
  w_pin : forall W Y e, In (W, Y) (mP m) -> has Y e = true ->
    has (mT m) e = true /\ has (mS m) e = false /\ big ns e;
  w_once : forall W Y W' Y' e, In (W, Y) (mP m) -> In (W', Y') (mP m) ->
    has W e = true -> has W' e = true -> (W, Y) = (W', Y') }.

Definition row_is (s : state) (d r : nat) (A : nat -> bool) : Prop :=
  forall c, c < D -> (s d r c = true <-> forall e, A e = false -> dig ns e c = dig ns e d).

(* What the machine's state says of the devices. *)
Record stands (m : mstate) (s : state) (t : track) : Prop := {
  s_inv : invariant ns k s t;
  s_well : well m;
  s_T : forall e, has (merged t) e = has (mT m) e;
  s_S : scattered t = mS m;
  s_R : reduced t = mR m;
  s_count : forall d, d < D -> zero (mR m) d -> count k (hold D s d) * weight (has (mS m)) ns = k;
  s_row : forall d r, d < D -> r < k -> H s d r -> row_is s d r (alpha m d) }.

Lemma stands_start : stands mstart initial start.
Proof.
  constructor; auto.
  - apply invariant_start; auto.
  - constructor; cbn [mstart mS mR mB mP]; try (intros; rewrite has_zero in *; discriminate);
      intros; simpl in *; tauto.
  - intros d Hd _. cbn [mstart mS]. rewrite weight_none by apply has_zero. rewrite Nat.mul_1_r.
    apply count_full. intros r Hr. apply (H_intro ns initial d r d); auto. apply Nat.eqb_refl.
  - intros d r Hd Hr _ c Hc. unfold initial. rewrite Nat.eqb_eq. split.
    + intros -> e _. auto.
    + intros E. apply (device_ext ns); auto. intros e. symmetry. apply E.
      unfold alpha. cbn [mstart mB mP existsb]. rewrite has_zero. auto.
Qed.

(* alpha depends on the digits of the pending Y only. *)
Lemma alpha_same m V d x : (forall W Y e, In (W, Y) (mP m) -> has Y e = true -> has V e = false) ->
  same V d x -> forall e, alpha m d e = alpha m x e.
Proof.
  intros HY Hs e. apply eq_true_iff_eq. rewrite !alpha_spec.
  assert (G : forall W Y, In (W, Y) (mP m) -> (zero Y d <-> zero Y x)).
  { intros W Y Hi. split; intros Hz y Hy; pose proof (HY _ _ y Hi Hy) as Q;
      [rewrite <- (Hs y Q)|rewrite (Hs y Q)]; auto. }
  apply or_iff_compat_l. split; intros [W [Y [Hi [E Hz]]]]; exists W, Y;
    (split; [auto|split; [auto|apply (G W Y Hi); auto]]).
Qed.

(* The union over a group of rows of one form. *)
Lemma union_rows s V d r (A : nat -> bool) : d < D ->
  (forall x, x < D -> same V d x -> row_is s x r A) ->
  forall c, c < D -> (union ns V s d r c <-> forall e, A e || has V e = false -> dig ns e c = dig ns e d).
Proof.
  intros Hd Hrow c Hc. split.
  - intros [x [Hx [Hs E]]] e Ha. apply orb_false_iff in Ha. destruct Ha as [Ha Hv].
    destruct (Hrow x Hx Hs c Hc) as [F _]. rewrite (F E e Ha). symmetry. auto.
  - intros E. exists (mix V c d). assert (M : mix V c d < D) by (apply mix_lt; auto).
    assert (Sm : same V d (mix V c d)) by (apply same_mix; auto).
    split; [auto|split; [auto|]]. apply (proj2 (Hrow _ M Sm c Hc)).
    intros e Ha. rewrite dig_mix by auto. destruct (has V e) eqn:Hv; auto. apply E. rewrite Ha, Hv. auto.
Qed.

Section One.
Variables (m : mstate) (s : state) (t : track).
Hypothesis st_ : stands m s t.

Let inv := s_inv _ _ _ st_.
Let w := s_well _ _ _ st_.

Lemma T_of e : has (merged t) e = has (mT m) e.
Proof. apply (s_T _ _ _ st_). Qed.

Lemma S_in_T e : has (mS m) e = true -> has (mT m) e = true.
Proof. intros E. apply mT_spec. left. apply (w_S _ w), E. Qed.

Lemma alpha_in_T d e : alpha m d e = true -> has (mT m) e = true.
Proof. rewrite alpha_spec, mT_spec. intros [E|[W [Y [Hi [E _]]]]]; eauto 6. Qed.

Lemma pending_apart V : (forall e, has V e = true -> has (mT m) e = false) ->
  forall W Y e, In (W, Y) (mP m) -> has Y e = true -> has V e = false.
Proof.
  intros HV W Y e Hi Hy. destruct (has_cases V e) as [E|]; auto. apply HV in E.
  apply (w_pin _ w) with (W := W) in Hy; auto. destruct Hy. congruence.
Qed.

Lemma holder_iff d : d < D -> (zero (mR m) d <-> exists r, r < k /\ H s d r).
Proof.
  intros Hd. rewrite <- (s_R _ _ _ st_). split; [apply (i_holder _ _ _ _ inv); auto|].
  intros [r [Hr Hh]]. apply (i_empty _ _ _ _ inv d r); auto.
Qed.

Lemma holds_same d d' r : d < D -> d' < D -> r < k -> zero (mR m) d' ->
  (forall e, has (mS m) e = true -> dig ns e d = dig ns e d') -> H s d r -> H s d' r.
Proof.
  intros Hd Hd' Hr Hz E Hh. apply (i_same _ _ _ _ inv d); auto.
  - rewrite (s_R _ _ _ st_). auto.
  - rewrite (s_S _ _ _ st_). auto.
Qed.

Lemma row_of d r c : d < D -> r < k -> c < D -> H s d r ->
  (s d r c = true <-> forall e, alpha m d e = false -> dig ns e c = dig ns e d).
Proof. intros Hd Hr Hc Hh. exact (s_row _ _ _ st_ d r Hd Hr Hh c Hc). Qed.

Lemma row_out d r c : d < D -> r < k -> c < D -> s d r c = true ->
  forall e, alpha m d e = false -> dig ns e c = dig ns e d.
Proof. intros Hd Hr Hc E. exact (proj1 (row_of d r c Hd Hr Hc (H_intro ns s d r c Hc E)) E). Qed.
Lemma row_in d r c : d < D -> r < k -> c < D -> H s d r ->
  (forall e, alpha m d e = false -> dig ns e c = dig ns e d) -> s d r c = true.
Proof. intros Hd Hr Hc Hh. exact (proj2 (row_of d r c Hd Hr Hc Hh)). Qed.

Ltac rows E := match type of E with
  | s ?d ?r ?c = true => let F := fresh in
      assert (F : forall e, alpha m d e = false -> dig ns e c = dig ns e d)
        by (apply (row_out d r c); solve [auto]); clear E; rename F into E
  end.

Lemma held_of d r c : c < D -> s d r c = true -> H s d r.
Proof. intros. apply (H_intro ns s d r c); auto. Qed.

(* ---- from the machine to the devices ---- *)

Section Merge.
Variables V Z : N.
Hypothesis Hap : apart V Z = true.
Hypothesis HbV : forall e, has V e = true -> big ns e.
Hypothesis HVT : forall e, has V e = true -> has (mT m) e = false.
Hypothesis HRZ : forall e, has (mR m) e = true -> has Z e = true.

Lemma merge_holders d : d < D -> zero Z d -> zero (mR m) d.
Proof. intros Hd Hz e He. auto. Qed.

Lemma merge_S d x : same V d x -> forall e, has (mS m) e = true -> dig ns e d = dig ns e x.
Proof.
  intros Hs e He. apply Hs. destruct (has_cases V e) as [E|]; auto. apply HVT in E.
  apply S_in_T in He. congruence.
Qed.

Lemma merge_occupied : occupied ns k V Z s.
Proof.
  intros d Hd Hz. destruct (proj1 (holder_iff d Hd) (merge_holders d Hd Hz)) as [r [Hr Hh]].
  exists d, r. auto using same_refl.
Qed.

Lemma merge_alike : alike ns k V Z s.
Proof.
  intros d d' r Hd Hd' Hz Hs Hr Hh. apply (holds_same d); auto using merge_S.
  apply merge_holders; auto. apply (zero_same ns V Z Hap d); auto.
Qed.

Lemma merge_no_overlap : no_overlap ns k V Z s.
Proof.
  intros d d' r c Hd Hd' Hz Hs Hne Hr Hc E E'. apply Hne. apply (same_inside ns positive V); auto.
  intros e He. assert (A : forall x, alpha m x e = false).
  { intros x. destruct (alpha m x e) eqn:Ea; auto. apply alpha_in_T in Ea. rewrite HVT in Ea; auto. }
  pose proof (held_of d r c Hc E) as Hh. pose proof (held_of d' r c Hc E') as Hh'.
  rows E. rows E'. rewrite <- (E e), <- (E' e); auto.
Qed.

(* The rows of a group that merges. *)
Lemma merge_union d r c : d < D -> zero Z d -> r < k -> c < D -> H s d r ->
  (union ns V s d r c <-> forall e, alpha m d e || has V e = false -> dig ns e c = dig ns e d).
Proof.
  intros Hd Hz Hr Hc Hh. apply union_rows; auto. intros x Hx Hs c' Hc'.
  rewrite (row_of x r c'); auto.
  - assert (A : forall e, alpha m d e = alpha m x e)
      by (apply (alpha_same m V); [apply pending_apart; exact HVT|exact Hs]).
    split; intros G e He; apply G; rewrite <- He; auto.
  - apply (merge_alike d); auto.
Qed.

End Merge.

Lemma or_alpha m' V d : (forall e, alpha m' d e = alpha m d e || has V e) ->
  forall (Q : nat -> Prop), (forall e, alpha m d e || has V e = false -> Q e) <-> (forall e, alpha m' d e = false -> Q e).
Proof. intros E Q. split; intros G e He; apply G; rewrite <- He; auto. Qed.

Lemma alpha_or S' R' V d e :
  alpha (MState S' R' (N.lor (mB m) V) (mP m)) d e = alpha m d e || has V e.
Proof.
  unfold alpha. cbn [mB mP]. rewrite has_or. destruct (has (mB m) e), (has V e); simpl; auto.
  - rewrite orb_true_r. auto.
  - rewrite orb_false_r. auto.
Qed.

Lemma mT_or S' R' V e : has (mT (MState S' R' (N.lor (mB m) V) (mP m))) e = has (N.lor (mT m) V) e.
Proof.
  unfold mT. cbn [mB mP]. rewrite !has_or. destruct (has (mB m) e), (has V e), (has (union_of (mP m)) e); auto.
Qed.

(* Adding fresh digits to B keeps the machine's state in order. *)
Lemma well_or S' R' V : (forall e, has V e = true -> has (mT m) e = false) ->
  (forall e, has V e = true -> big ns e) ->
  (forall e, has S' e = true -> has (mS m) e = true \/ has V e = true) ->
  (forall e, has R' e = true -> has (mR m) e = true \/ has V e = true) ->
  well (MState S' R' (N.lor (mB m) V) (mP m)).
Proof.
  intros HV HB HS HR. constructor; cbn [mS mR mB mP].
  - intros e He. apply HS in He. destruct He; [apply or_left, (w_S _ w)|apply or_right]; auto.
  - intros e He. apply HR in He. destruct He; [apply or_left, (w_R _ w)|apply or_right]; auto.
  - intros e He. apply or_cases in He. destruct He; auto. apply (w_B _ w); auto.
  - apply (w_W _ w).
  - intros W Y e Hi He. destruct (w_fresh _ w W Y e Hi He) as [A [B C]]. split; [|auto].
    rewrite has_or, A. destruct (has_cases V e) as [E|]; auto. apply HV in E.
    assert (has (mT m) e = true) by (apply mT_spec; right; eauto). congruence.
  - intros W Y e Hi He. destruct (w_pin _ w W Y e Hi He) as [A [B C]]. split; [|split; auto].
    + rewrite mT_or. apply or_left, A.
    + destruct (has_cases S' e) as [E|]; auto. apply HS in E. destruct E as [E|E]; [congruence|].
      apply HV in E. congruence.
  - apply (w_once _ w).
Qed.

Lemma count_iff d d' (s' : state) : (forall r, r < k -> (H s' d' r <-> H s d r)) ->
  count k (hold D s' d') = count k (hold D s d).
Proof. intros E. apply count_ext. intros r Hr. apply eq_true_iff_eq. apply (E r Hr). Qed.

Lemma allreduce_stands V Z m' : proper ns (Step V Z AllReduce) ->
  mstep (Step V Z AllReduce) m = Some m' ->
  legal_step ns k (Step V Z AllReduce) s = true /\
  stands m' (do_step ns k (Step V Z AllReduce) s) (track_step (Step V Z AllReduce) t).
Proof.
  intros Hp Hm. pose proof Hp as [Hne [HbV [HbZ [Hap _]]]]. cbn [vary pin what] in *.
  unfold mstep in Hm. cbn [vary pin what] in Hm.
  destruct (apart V (mT m) && subset (mR m) Z && subset Z (mT m) && apart Z (mS m)) eqn:E; [|discriminate].
  rewrite !andb_true_iff in E. destruct E as [[[E1 E2] E3] E4].
  rewrite apart_spec in E1, E4. rewrite subset_spec in E2, E3.
  assert (Hl : legal_step ns k (Step V Z AllReduce) s = true).
  { apply legal_allreduce; auto. split; [|split].
    - apply merge_occupied; auto.
    - apply merge_alike; auto.
    - apply merge_no_overlap; auto. }
  split; auto.
  destruct (step_facts ns k positive chunks s t _ inv Hp Hl) as [_ [inv' _]].
  set (s' := do_step ns k (Step V Z AllReduce) s) in *.
  assert (Hin : forall d r c, d < D -> zero Z d -> (s' d r c = true <-> union ns V s d r c))
    by (intros; apply do_allreduce; auto).
  assert (Hout : forall d r c, d < D -> ~ zero Z d -> s' d r c = s d r c)
    by (intros; apply step_untouched; auto).
  assert (HH : forall d r, d < D -> r < k -> (H s' d r <-> H s d r))
    by (intros; apply holds_allreduce; auto using merge_alike).
  destruct (N.eqb_spec (mR m) Z) as [EZ|EZ]; injection Hm as <-.
  - constructor; auto.
    + apply well_or; auto.
    + intros e. rewrite mT_or. unfold track_step. cbn [what merged vary]. rewrite !has_or, T_of. auto.
    + apply (s_S _ _ _ st_).
    + apply (s_R _ _ _ st_).
    + intros d Hd Hz. cbn [mS mR] in *. rewrite (count_iff d d s') by (intros; apply HH; auto).
      apply (s_count _ _ _ st_); auto.
    + intros d r Hd Hr Hh c Hc. apply HH in Hh; auto.
      assert (Hz : zero Z d) by (rewrite <- EZ; apply holder_iff; eauto).
      rewrite Hin by auto. rewrite (merge_union V Z); auto. apply or_alpha. intros e. apply alpha_or.
  - constructor; auto.
    + constructor; cbn [mS mR mB mP].
      * apply (w_S _ w).
      * apply (w_R _ w).
      * apply (w_B _ w).
      * intros W Y [E|Hi]; [|apply (w_W _ w W Y Hi)]. injection E as <- <-. split; auto.
        intros ->. apply EZ. apply zero_spec. intros e. destruct (has_cases (mR m) e) as [Q|]; auto.
        apply E2 in Q. rewrite has_zero in Q. discriminate.
      * intros W Y e [E|Hi] He; [|apply (w_fresh _ w W Y e Hi He)]. injection E as <- <-.
        split; [|split; auto].
        -- destruct (has_cases (mB m) e) as [Q|]; auto. apply E1 in He.
           assert (has (mT m) e = true) by (apply mT_spec; auto). congruence.
        -- rewrite apart_spec in Hap. auto.
      * intros W Y e Hi He. assert (Q : has (mT m) e = true /\ has (mS m) e = false /\ big ns e).
        { destruct Hi as [E|Hi]; [|apply (w_pin _ w W Y e Hi He)]. injection E as <- <-. auto. }
        destruct Q as [Q1 Q2]. split; auto. rewrite mT_spec in *. cbn [mB mP].
        destruct Q1 as [Q1|[W' [Y' [Hi' Q1]]]]; auto. right. exists W', Y'. split; auto. right; auto.
      * intros W Y W' Y' e [E|Hi] [E'|Hi'] He He'.
        -- congruence.
        -- injection E as <- <-. apply E1 in He. 
           assert (has (mT m) e = true) by (apply mT_spec; right; eauto). congruence.
        -- injection E' as <- <-. apply E1 in He'. 
           assert (has (mT m) e = true) by (apply mT_spec; right; eauto). congruence.
        -- apply (w_once _ w W Y W' Y' e); auto.
    + intros e. unfold track_step. cbn [what merged vary]. rewrite has_or, T_of.
      unfold mT. cbn [mB mP union_of fold_right fst]. rewrite !has_or. fold (union_of (mP m)).
      destruct (has (mB m) e), (has V e), (has (union_of (mP m)) e); auto.
    + apply (s_S _ _ _ st_).
    + apply (s_R _ _ _ st_).
    + intros d Hd Hz. cbn [mS mR] in *. rewrite (count_iff d d s') by (intros; apply HH; auto).
      apply (s_count _ _ _ st_); auto.
    + intros d r Hd Hr Hh c Hc. apply HH in Hh; auto.
      assert (A : forall e, alpha (MState (mS m) (mR m) (mB m) ((V, Z) :: mP m)) d e =
                            alpha m d e || (has V e && zerob Z d)).
      { intros e. unfold alpha. cbn [mB mP existsb fst snd].
        destruct (has (mB m) e), (has V e && zerob Z d), (existsb _ (mP m)); auto. }
      destruct (zero_dec ns Z d) as [z|z].
      * rewrite Hin by auto. rewrite (merge_union V Z); auto. apply or_alpha.
        intros e. rewrite A, (proj2 (zerob_spec ns Z d) z), andb_true_r. auto.
      * rewrite Hout by auto. rewrite row_of by auto.
        assert (Zf : zerob Z d = false).
        { destruct (zerob Z d) eqn:Q; auto. apply zerob_spec in Q. tauto. }
        split; intros G e He; apply G; rewrite <- He, A, Zf, andb_false_r, orb_false_r; auto.
Qed.

Lemma reducescatter_stands V m' : proper ns (Step V 0 ReduceScatter) ->
  mstep (Step V 0 ReduceScatter) m = Some m' ->
  legal_step ns k (Step V 0 ReduceScatter) s = true /\
  stands m' (do_step ns k (Step V 0 ReduceScatter) s) (track_step (Step V 0 ReduceScatter) t).
Proof.
  intros Hp Hm. pose proof Hp as [Hne [HbV [HbZ [Hap _]]]]. cbn [vary pin what] in *.
  unfold mstep in Hm. cbn [vary pin what] in Hm.
  destruct (apart V (mT m) && is_zero (mR m)) eqn:E; [|discriminate].
  rewrite andb_true_iff in E. destruct E as [E1 E2]. apply is_zero_spec in E2.
  rewrite apart_spec in E1.
  assert (HRZ : forall e, has (mR m) e = true -> has 0%N e = true) by (rewrite E2; auto).
  assert (HVS : forall e, has V e = true -> has (mS m) e = true -> False).
  { intros e He Hs. apply S_in_T in Hs. rewrite E1 in Hs; [discriminate|auto]. }
  assert (Zr : forall d, zero (mR m) d) by (intros d; rewrite E2; apply zero_none).
  assert (Hal := merge_alike V 0 Hap E1 HRZ).
  assert (WS : weight (has (N.lor (mS m) V)) ns = weight (has (mS m)) ns * weight (has V) ns).
  { rewrite <- weight_or by eauto. apply weight_ext. apply has_or. }
  pose proof (weight_pos (has V) ns positive) as PV.
  pose proof (weight_pos (has (mS m)) ns positive) as PS.
  assert (Hdiv : divisible ns k V 0 s).
  { intros d Hd _. rewrite members_weight by auto.
    assert (Md : mix V 0 d < D) by (apply mix_lt; auto; apply D_pos; auto).
    pose proof (s_count _ _ _ st_ (mix V 0 d) Md (Zr _)) as C.
    destruct divides as [q Hq]. rewrite (weight_split (has (N.lor (mS m) V))), WS in Hq.
    set (cn := count k (hold D s (mix V 0 d))) in *.
    set (ws := weight (has (mS m)) ns) in *. set (wv := weight (has V) ns) in *.
    set (wr := weight (fun e => negb (has (N.lor (mS m) V) e)) ns) in *.
    assert (Q : cn = q * wr * wv) by nia. rewrite Q. apply Nat.mod_mul. lia. }
  assert (Hl : legal_step ns k (Step V 0 ReduceScatter) s = true).
  { apply legal_reducescatter; auto. split; [|split; [|split]]; auto.
    - apply merge_occupied; auto.
    - apply merge_no_overlap; auto. }
  split; auto.
  destruct (step_facts ns k positive chunks s t _ inv Hp Hl) as [_ [inv' _]].
  set (s' := do_step ns k (Step V 0 ReduceScatter) s) in *.
  assert (Hs' : forall d r c, d < D -> r < k -> (s' d r c = true <-> union ns V s d r c /\ kept ns k V s d r))
    by (intros; apply do_reducescatter; auto using zero_none).
  assert (Hal' : forall d d' r, d < D -> d' < D -> same V d d' -> r < k -> H s d r -> H s d' r)
    by (intros d d' r; intros; apply (Hal d); auto using zero_none).
  assert (HH : forall d r, d < D -> r < k -> (H s' d r <-> H s d r /\ kept ns k V s d r))
    by (intros; apply holds_reducescatter; auto using zero_none).
  injection Hm as <-. constructor; auto.
  - apply well_or; auto. intros e He. apply or_cases in He. auto.
  - intros e. rewrite mT_or. unfold track_step. cbn [what merged vary]. rewrite !has_or, T_of. auto.
  - unfold track_step. cbn [what scattered vary mS]. rewrite (s_S _ _ _ st_). auto.
  - apply (s_R _ _ _ st_).
  - intros d Hd Hz. cbn [mS mR] in *. rewrite WS.
    pose proof (s_count _ _ _ st_ d Hd Hz) as C.
    pose proof (Hdiv d Hd (zero_none ns d)) as Dv.
    assert (Ec : forall r, r <= k -> count r (hold D s (mix V 0 d)) = count r (hold D s d)).
    { intros r Hr. apply (count_alike ns k s); auto. intros q Hq. apply (root_holds ns k positive V s Hal'); auto. }
    rewrite Ec in Dv by auto.
    pose proof (run_size k (hold D s d) (length (members ns V d)) (place ns V d)
      (members_length_pos ns V d Hd) Dv (place_lt ns V d Hd)) as Rs.
    rewrite members_weight in Rs by auto.
    assert (Cn : count k (hold D s' d) = count k (fun r => hold D s d r &&
        in_runb (weight (has V) ns) (count k (hold D s d)) (place ns V d) (count r (hold D s d)))).
    { apply count_ext. intros r Hr. apply eq_true_iff_eq. rewrite andb_true_iff, in_runb_spec.
      change (hold D s' d r = true) with (H s' d r). change (hold D s d r = true) with (H s d r).
      rewrite HH by auto. unfold kept. rewrite members_weight, !Ec by (auto; lia). reflexivity. }
    rewrite Cn. nia.
  - intros d r Hd Hr Hh c Hc. apply HH in Hh; auto. destruct Hh as [Hh K].
    rewrite Hs' by auto. rewrite (merge_union V 0); auto using zero_none.
    rewrite (or_alpha _ V d (alpha_or (N.lor (mS m) V) (mR m) V d) (fun e => dig ns e c = dig ns e d)). tauto.
Qed.

Lemma reduce_stands V m' : proper ns (Step V 0 Reduce) ->
  mstep (Step V 0 Reduce) m = Some m' ->
  legal_step ns k (Step V 0 Reduce) s = true /\
  stands m' (do_step ns k (Step V 0 Reduce) s) (track_step (Step V 0 Reduce) t).
Proof.
  intros Hp Hm. pose proof Hp as [Hne [HbV [HbZ [Hap _]]]]. cbn [vary pin what] in *.
  unfold mstep in Hm. cbn [vary pin what] in Hm.
  destruct (apart V (mT m) && is_zero (mR m)) eqn:E; [|discriminate].
  rewrite andb_true_iff in E. destruct E as [E1 E2]. apply is_zero_spec in E2.
  rewrite apart_spec in E1.
  assert (HRZ : forall e, has (mR m) e = true -> has 0%N e = true) by (rewrite E2; auto).
  assert (Zr : forall d, zero (mR m) d) by (intros d; rewrite E2; apply zero_none).
  assert (Hal := merge_alike V 0 Hap E1 HRZ).
  assert (Hl : legal_step ns k (Step V 0 Reduce) s = true).
  { apply legal_reduce; auto. split; [|split]; auto.
    - apply merge_occupied; auto.
    - apply merge_no_overlap; auto. }
  split; auto.
  destruct (step_facts ns k positive chunks s t _ inv Hp Hl) as [_ [inv' _]].
  set (s' := do_step ns k (Step V 0 Reduce) s) in *.
  assert (Hs' : forall d r c, d < D -> (s' d r c = true <-> union ns V s d r c /\ zero V d))
    by (intros; apply do_reduce; auto using zero_none).
  assert (HH : forall d r, d < D -> r < k -> (H s' d r <-> H s d r /\ zero V d))
    by (intros; apply holds_reduce; auto using zero_none).
  injection Hm as <-. constructor; auto.
  - apply well_or; auto.
  - intros e. rewrite mT_or. unfold track_step. cbn [what merged vary]. rewrite !has_or, T_of. auto.
  - apply (s_S _ _ _ st_).
  - unfold track_step. cbn [what reduced vary mR]. rewrite (s_R _ _ _ st_), E2. apply N.lor_0_l.
  - intros d Hd Hz. cbn [mS mR] in *. rewrite (count_iff d d s').
    + apply (s_count _ _ _ st_); auto.
    + intros r Hr. rewrite HH by auto. tauto.
  - intros d r Hd Hr Hh c Hc. apply HH in Hh; auto. destruct Hh as [Hh K].
    rewrite Hs' by auto. rewrite (merge_union V 0); auto using zero_none.
    rewrite (or_alpha _ V d (alpha_or (mS m) V V d) (fun e => dig ns e c = dig ns e d)). tauto.
Qed.

Lemma allgather_stands V m' : proper ns (Step V 0 AllGather) ->
  mstep (Step V 0 AllGather) m = Some m' ->
  legal_step ns k (Step V 0 AllGather) s = true /\
  stands m' (do_step ns k (Step V 0 AllGather) s) (track_step (Step V 0 AllGather) t).
Proof.
  intros Hp Hm. pose proof Hp as [Hne [HbV [HbZ [Hap _]]]]. cbn [vary pin what] in *.
  unfold mstep in Hm. cbn [vary pin what] in Hm.
  destruct (is_zero (mR m) && subset V (mS m)) eqn:E; [|discriminate].
  rewrite andb_true_iff in E. destruct E as [E2 E1]. apply is_zero_spec in E2.
  rewrite subset_spec in E1.
  assert (Zr : forall d, zero (mR m) d) by (intros d; rewrite E2; apply zero_none).
  assert (HY : forall W Y e, In (W, Y) (mP m) -> has Y e = true -> has V e = false).
  { intros W Y e Hi He. destruct (has_cases V e) as [Q|]; auto. apply E1 in Q.
    destruct (w_pin _ w W Y e Hi He) as [_ [G _]]. congruence. }
  assert (Hca : chunks_apart ns k V 0 s).
  { intros d d' r Hd Hd' _ Hs Hne' Hr Hh Hh'. apply Hne'. apply (same_inside ns positive V); auto.
    intros e He. apply (i_apart _ _ _ _ inv d d' r); auto. rewrite (s_S _ _ _ st_). auto. }
  assert (Hl : legal_step ns k (Step V 0 AllGather) s = true).
  { apply legal_allgather; auto. split; [|split]; auto.
    - intros d Hd _. destruct (proj1 (holder_iff d Hd) (Zr d)) as [r [Hr Hh]].
      exists d, r. auto using same_refl.
    - intros d d' Hd Hd' _ _. pose proof (s_count _ _ _ st_ d Hd (Zr d)) as C.
      pose proof (s_count _ _ _ st_ d' Hd' (Zr d')) as C'.
      pose proof (weight_pos (has (mS m)) ns positive) as PS. nia. }
  split; auto.
  destruct (step_facts ns k positive chunks s t _ inv Hp Hl) as [_ [inv' _]].
  set (s' := do_step ns k (Step V 0 AllGather) s) in *.
  assert (Hs' : forall d r c, d < D -> (s' d r c = true <-> union ns V s d r c))
    by (intros; apply do_allgather; auto using zero_none).
  assert (HH : forall d r, d < D -> (H s' d r <-> exists x, In x (members ns V d) /\ H s x r)).
  { intros d r Hd. unfold s'. rewrite holds_allgather by auto using zero_none.
    split; intros [x Hx]; exists x; rewrite in_members in *; tauto. }
  injection Hm as <-. constructor; auto.
  - constructor; cbn [mS mR mB mP]; try apply w.
    + intros e He. apply diff_true in He. apply (w_S _ w). tauto.
    + intros W Y e Hi He. destruct (w_pin _ w W Y e Hi He) as [A [B C]]. split; [|split]; auto.
      rewrite has_diff, B. auto.
  - apply (s_T _ _ _ st_).
  - unfold track_step. cbn [what scattered vary mS]. rewrite (s_S _ _ _ st_). auto.
  - apply (s_R _ _ _ st_).
  - intros d Hd Hz. cbn [mS mR] in *.
    assert (C : count k (hold D s' d) = length (members ns V d) * count k (hold D s d)).
    { rewrite <- (count_union k (hold D s) (members ns V d) (count k (hold D s d))).
      - apply count_ext. intros r Hr. apply eq_true_iff_eq. rewrite existsb_exists. apply (HH d r Hd).
      - apply NoDup_members.
      - intros x Hx. apply in_members in Hx. destruct Hx as [Hx _].
        pose proof (s_count _ _ _ st_ d Hd (Zr d)) as C1. pose proof (s_count _ _ _ st_ x Hx (Zr x)) as C2.
        pose proof (weight_pos (has (mS m)) ns positive) as PS. nia.
      - intros x x' r Hx Hx' Hne' Hr. apply in_members in Hx, Hx'. destruct Hx, Hx'.
        apply (Hca x x' r); auto using zero_none. eauto using same_trans, same_sym. }
    rewrite C, members_weight by auto.
    assert (WS : weight (has (mS m)) ns = weight (has V) ns * weight (has (N.ldiff (mS m) V)) ns).
    { rewrite <- weight_or.
      - apply weight_ext. intros e. rewrite has_diff. specialize (E1 e).
        destruct (has V e), (has (mS m) e); auto.
      - intros e A B. apply diff_true in B. destruct B. congruence. }
    pose proof (s_count _ _ _ st_ d Hd (Zr d)) as C1. rewrite WS in C1. nia.
  - intros d r Hd Hr Hh c Hc. apply HH in Hh; auto. destruct Hh as [x [Hx Hh]].
    apply in_members in Hx. destruct Hx as [Hx Hs]. rewrite Hs' by auto.
    assert (HVa : forall e y, alpha m y e = false -> has V e = false).
    { intros e y Ha. destruct (has_cases V e) as [Q|]; auto. apply E1, (w_S _ w) in Q.
      assert (alpha m y e = true) by (apply alpha_spec; auto). congruence. }
    change (alpha (MState (N.ldiff (mS m) V) (mR m) (mB m) (mP m)) d) with (alpha m d). split.
    + intros [y [Hy [Hsy E]]] e Ha. pose proof (held_of y r c Hc E) as Hhy. rows E.
      rewrite (Hsy e); [|eauto]. apply E. rewrite <- Ha. symmetry. apply (alpha_same m V); auto.
    + intros G. exists x. split; [auto|split; [auto|]]. apply row_in; auto. intros e Ha.
      rewrite <- (Hs e); [|eauto]. apply G. rewrite <- Ha. apply (alpha_same m V); auto.
Qed.

(* B with the pending Masters whose pins a Broadcast over V undoes. *)
Lemma broadcast_T V e :
  has (mT (MState (mS m) 0 (N.lor (mB m) (union_of (active V (mP m)))) (waiting V (mP m)))) e = has (mT m) e.
Proof.
  apply eq_true_iff_eq. rewrite !mT_spec. cbn [mB mP]. rewrite has_or, orb_true_iff, union_spec. split.
  - intros [[E|[W [Y [Hi E]]]]|[W [Y [Hi E]]]]; auto; right.
    + apply in_active in Hi. exists W, Y. tauto.
    + apply in_waiting in Hi. destruct Hi as [Y' [Hi _]]. eauto.
  - intros [E|[W [Y [Hi E]]]]; auto. destruct (subset Y V) eqn:Sb.
    + left. right. exists W, Y. rewrite in_active. auto.
    + right. exists W, (N.ldiff Y V). split; auto. apply in_waiting. eauto.
Qed.

Lemma broadcast_stands V m' : proper ns (Step V 0 Broadcast) ->
  mstep (Step V 0 Broadcast) m = Some m' ->
  legal_step ns k (Step V 0 Broadcast) s = true /\
  stands m' (do_step ns k (Step V 0 Broadcast) s) (track_step (Step V 0 Broadcast) t).
Proof.
  intros Hp Hm. pose proof Hp as [Hne [HbV [HbZ [Hap _]]]]. cbn [vary pin what] in *.
  unfold mstep in Hm. cbn [vary pin what] in Hm.
  destruct (subset (mR m) V && apart V (mS m) &&
         subset (N.ldiff V (mR m)) (N.lor (mB m) (union_of (active V (mP m)))) &&
         (negb (is_zero (mR m)) || negb (forallb (fun wy => negb (subset (snd wy) V)) (mP m)))) eqn:E; [|discriminate].
  rewrite !andb_true_iff in E. destruct E as [[[E1 E2] E3] E4].
  rewrite subset_spec in E1, E3. rewrite apart_spec in E2.
  pose proof (D_pos ns positive) as D0.
  assert (Mx : forall d, d < D -> mix V 0 d < D) by (intros; apply mix_lt; auto).
  assert (Dm : forall d e, d < D -> dig ns e (mix V 0 d) = if has V e then 0 else dig ns e d)
    by (intros; rewrite dig_mix, dig_zero; auto).
  assert (Zroot : forall d, d < D -> zero (mR m) (mix V 0 d)).
  { intros d Hd e He. rewrite Dm, (E1 e He); auto. }
  assert (Sroot : forall d, d < D -> forall e, has (mS m) e = true -> dig ns e d = dig ns e (mix V 0 d)).
  { intros d Hd e He. rewrite Dm by auto. destruct (has V e) eqn:Q; auto. apply E2 in Q. congruence. }
  (* rows of the root, as seen from d *)
  assert (Zy : forall Y d, d < D -> (zero Y (mix V 0 d) <-> zero (N.ldiff Y V) d)).
  { intros Y d Hd. split; intros G e He.
    - apply diff_true in He. destruct He as [He Hv]. specialize (G e He). rewrite Dm, Hv in G; auto.
    - rewrite Dm by auto. destruct (has V e) eqn:Hv; auto. apply G. apply diff_intro; auto. }
  assert (Asub : forall d e, d < D -> alpha m d e = true -> alpha m (mix V 0 d) e = true).
  { intros d e Hd. rewrite !alpha_spec. intros [G|[W [Y [Hi [He Hz]]]]]; auto. right. exists W, Y.
    split; [auto|split; [auto|]]. apply Zy; auto. intros y Hy. apply diff_true in Hy. apply Hz. tauto. }
  assert (Aact : forall d W Y e, d < D -> In (W, Y) (mP m) -> subset Y V = true -> has W e = true ->
            alpha m (mix V 0 d) e = true).
  { intros d W Y e Hd Hi Hsub He. apply alpha_spec. right. exists W, Y. split; [auto|split; [auto|]].
    rewrite subset_spec in Hsub. intros y Hy. rewrite Dm, (Hsub y Hy); auto. }
  assert (AV : forall d e, d < D -> has V e = true -> alpha m (mix V 0 d) e = true).
  { intros d e Hd He. destruct (has_cases (mR m) e) as [Q|Q].
    - apply alpha_spec. left. apply (w_R _ w), Q.
    - assert (G : has (N.lor (mB m) (union_of (active V (mP m)))) e = true) by (apply E3, diff_intro; auto).
      apply or_cases in G. destruct G as [G|G]; [apply alpha_spec; auto|].
      apply union_spec in G. destruct G as [W [Y [Hi G]]]. apply in_active in Hi. destruct Hi. eauto. }
  assert (Hroot : in_root ns k V 0 s).
  { intros d r c Hd _ Hr Hc E. pose proof (held_of d r c Hc E) as Hh.
    assert (Hh' : H s (mix V 0 d) r) by (apply (holds_same d); auto).
    rows E. apply row_in; auto. intros e Ha.
    rewrite (E e).
    - rewrite Dm by auto. destruct (has V e) eqn:Q; auto. rewrite (AV d e) in Ha; [discriminate|auto|auto].
    - destruct (alpha m d e) eqn:Q; auto. apply Asub in Q; auto. congruence. }
  assert (Hlearn : learns ns k V 0 s).
  { intros d Hd _. destruct (proj1 (holder_iff _ (Mx d Hd)) (Zroot d Hd)) as [r [Hr Hh]].
    apply orb_true_iff in E4. destruct (N.eq_dec (mR m) 0) as [R0|R0].
    - destruct E4 as [E4|E4]; [rewrite R0 in E4; discriminate|].
      apply negb_true_iff in E4.
      assert (G : exists W Y, In (W, Y) (mP m) /\ subset Y V = true).
      { clear - E4. induction (mP m) as [|[W Y] l IH]; simpl in E4; [discriminate|].
        destruct (subset Y V) eqn:Q; [exists W, Y; split; [left|]; auto|]. simpl in E4.
        destruct (IH E4) as [W' [Y' [Hi G]]]. exists W', Y'. split; [right|]; auto. }
      destruct G as [W [Y [Hi Hsub]]]. destruct (w_W _ w W Y Hi) as [HW HY].
      apply nonzero_spec in HW, HY. destruct HW as [a Ha], HY as [y Hy].
      destruct (w_fresh _ w W Y a Hi Ha) as [F1 [F2 F3]]. destruct (w_pin _ w W Y y Hi Hy) as [P1 [P2 P3]].
      assert (Hyv : has V y = true) by (rewrite subset_spec in Hsub; auto).
      set (x := put y (mix V 0 d)). assert (Px : x < D) by (apply put_lt; auto).
      assert (Sx : same V d x).
      { apply (same_trans ns V d (mix V 0 d)); [apply same_mix; auto|apply same_put; auto]. }
      (* the root with digit a changed: in the row of the root, not of x *)
      set (v := if dig ns a (mix V 0 d) =? 0 then 1 else 0).
      assert (exists c, c < D /\ (forall e, e <> a -> dig ns e c = dig ns e (mix V 0 d)) /\
                        dig ns a c <> dig ns a (mix V 0 d)) as [c [Hc [C1 C2]]].
      { assert (Hv : forall e, (if e =? a then v else dig ns e (mix V 0 d)) < size ns e).
        { intros e. destruct (Nat.eqb_spec e a) as [->|]; [|apply dig_lt; auto; apply (Mx d Hd)].
          unfold v, big in *. destruct (_ =? 0); lia. }
        exists (make ns (fun e => if e =? a then v else dig ns e (mix V 0 d))).
        split; [apply make_lt; auto|]. 
        split; [intros e Ne|]; rewrite (dig_make ns (fun e => if e =? a then v else dig ns e (mix V 0 d))) by auto.
        - destruct (Nat.eqb_spec e a); congruence.
        - rewrite Nat.eqb_refl. unfold v. destruct (Nat.eqb_spec (dig ns a (mix V 0 d)) 0) as [->|]; lia. }
      exists x, r, c. split; [auto|split; [auto|split; [auto|split; [auto|split]]]].
      + apply row_in; auto. intros e Hae. apply C1. intros ->.
        rewrite (Aact d W Y a) in Hae; [discriminate|auto|auto|auto|auto].
      + destruct (s x r c) eqn:E; auto. exfalso. pose proof (held_of x r c Hc E) as Hhx.
        rows E. apply C2. rewrite (E a).
        * unfold x. rewrite dig_put by auto. destruct (Nat.eqb_spec a y); [congruence|auto].
        * destruct (alpha m x a) eqn:Q; auto. exfalso. apply alpha_spec in Q.
          destruct Q as [Q|[W' [Y' [Hi' [Q Hz]]]]]; [congruence|].
          pose proof (w_once _ w _ _ _ _ a Hi Hi' Ha Q) as Eq. injection Eq as <- <-.
          specialize (Hz y Hy). unfold x in Hz. rewrite dig_put, Nat.eqb_refl in Hz by auto. discriminate.
    - apply nonzero_spec in R0. destruct R0 as [y Hy].
      assert (By : big ns y) by (apply (w_B _ w), (w_R _ w), Hy).
      set (x := put y (mix V 0 d)). assert (Px : x < D) by (apply put_lt; auto).
      assert (Sx : same V d x).
      { apply (same_trans ns V d (mix V 0 d)); [apply same_mix; auto|apply same_put; auto]. }
      pose proof Hh as Hc. apply H_spec in Hc. destruct Hc as [c [Hc E]].
      exists x, r, c. split; [auto|split; [auto|split; [auto|split; [auto|split; auto]]]].
      destruct (s x r c) eqn:Q; auto. exfalso. 
      assert (Hz : zero (mR m) x) by (apply holder_iff; auto; exists r; split; auto; apply (held_of x r c); auto).
      specialize (Hz y Hy). unfold x in Hz. rewrite dig_put, Nat.eqb_refl in Hz by auto. discriminate. }
  assert (Hl : legal_step ns k (Step V 0 Broadcast) s = true).
  { apply legal_broadcast; auto. split; [|split]; auto.
    intros d Hd _. destruct (proj1 (holder_iff _ (Mx d Hd)) (Zroot d Hd)) as [r [Hr Hh]].
    exists (mix V 0 d), r. auto using same_mix. }
  split; auto.
  destruct (step_facts ns k positive chunks s t _ inv Hp Hl) as [_ [inv' _]].
  set (s' := do_step ns k (Step V 0 Broadcast) s) in *.
  assert (Hs' : forall d r c, d < D -> s' d r c = s (mix V 0 d) r c)
    by (intros; apply do_broadcast; auto using zero_none).
  assert (HHs : forall d r, d < D -> (H s' d r <-> H s (mix V 0 d) r))
    by (intros; apply holds_broadcast; auto using zero_none).
  injection Hm as <-. constructor; auto.
  - constructor; cbn [mS mR mB mP].
    + intros e He. apply or_left, (w_S _ w), He.
    + intros e He. rewrite has_zero in He. discriminate.
    + intros e He. apply or_cases in He. destruct He as [He|He]; [apply (w_B _ w); auto|].
      apply union_spec in He. destruct He as [W [Y [Hi He]]]. apply in_active in Hi.
      apply (w_fresh _ w W Y e); tauto.
    + intros W Y Hi. apply in_waiting in Hi. destruct Hi as [Y' [Hi [Hn ->]]]. split; [apply (w_W _ w W Y' Hi)|].
      intros Q. unfold subset in Hn. rewrite Q in Hn. discriminate.
    + intros W Y e Hi He. apply in_waiting in Hi. destruct Hi as [Y' [Hi [Hn ->]]].
      destruct (w_fresh _ w W Y' e Hi He) as [A [C F]]. split; [|split; auto].
      * rewrite has_or, A. cbn [orb]. destruct (has_cases (union_of (active V (mP m))) e) as [Q|]; auto.
        apply union_spec in Q. destruct Q as [W' [Y'' [Hi' Q]]]. apply in_active in Hi'. destruct Hi' as [Hi' Sb].
        pose proof (w_once _ w _ _ _ _ e Hi Hi' He Q) as Eq. injection Eq as <- <-. congruence.
      * rewrite has_diff, C. auto.
    + intros W Y e Hi He. apply in_waiting in Hi. destruct Hi as [Y' [Hi [Hn ->]]].
      apply diff_true in He. destruct He as [He Hv].
      rewrite broadcast_T. apply (w_pin _ w W Y' e); auto.
    + intros W Y W' Y' e Hi Hi' He He'. apply in_waiting in Hi, Hi'.
      destruct Hi as [Y1 [Hi [_ ->]]], Hi' as [Y1' [Hi' [_ ->]]].
      pose proof (w_once _ w _ _ _ _ e Hi Hi' He He') as Eq. injection Eq as <- <-. auto.
  - intros e. rewrite broadcast_T. unfold track_step. cbn [what merged]. apply T_of.
  - apply (s_S _ _ _ st_).
  - unfold track_step. cbn [what reduced vary mR]. rewrite (s_R _ _ _ st_). apply zero_spec. intros e.
    rewrite has_diff. specialize (E1 e). destruct (has (mR m) e); auto. rewrite E1; auto.
  - intros d Hd _. cbn [mS]. rewrite (count_iff (mix V 0 d) d s') by (intros; apply HHs; auto).
    apply (s_count _ _ _ st_); auto.
  - intros d r Hd Hr Hh c Hc. apply HHs in Hh; auto. rewrite Hs', row_of by auto.
    assert (A : forall e, alpha (MState (mS m) 0 (N.lor (mB m) (union_of (active V (mP m)))) (waiting V (mP m))) d e
                        = alpha m (mix V 0 d) e).
    { intros e. apply eq_true_iff_eq. rewrite !alpha_spec. cbn [mB mP]. rewrite has_or, orb_true_iff, union_spec. split.
      - intros [[G|[W [Y [Hi G]]]]|[W [Y [Hi [G Hz]]]]]; auto; right.
        + apply in_active in Hi. destruct Hi as [Hi Sb]. exists W, Y. split; [auto|split; [auto|]].
          rewrite subset_spec in Sb. intros y Hy. rewrite Dm, (Sb y Hy); auto.
        + apply in_waiting in Hi. destruct Hi as [Y' [Hi [_ ->]]]. exists W, Y'. split; [auto|split; [auto|]].
          apply Zy; auto.
      - intros [G|[W [Y [Hi [G Hz]]]]]; auto. destruct (subset Y V) eqn:Sb.
        + left. right. exists W, Y. rewrite in_active. auto.
        + right. exists W, (N.ldiff Y V). split; [apply in_waiting; eauto|split; [auto|]]. apply Zy; auto. }
    assert (Eq : forall e, alpha m (mix V 0 d) e = false -> dig ns e (mix V 0 d) = dig ns e d).
    { intros e Ha. rewrite Dm by auto. destruct (has V e) eqn:Q; auto. rewrite (AV d e) in Ha; [discriminate|auto|auto]. }
    split; intros G e Ha.
    + rewrite A in Ha. rewrite <- (Eq e Ha). auto.
    + rewrite (Eq e Ha). apply G. rewrite A. auto.
Qed.

Theorem step_stands st m' : proper ns st -> mstep st m = Some m' ->
  legal_step ns k st s = true /\ stands m' (do_step ns k st s) (track_step st t).
Proof.
  intros Hp Hm. destruct st as [V Z c].
  destruct c; try (assert (Z = 0%N) as -> by (apply (pin_zero ns _ Hp); discriminate)).
  - apply allreduce_stands; auto.
  - apply reducescatter_stands; auto.
  - apply allgather_stands; auto.
  - apply reduce_stands; auto.
  - apply broadcast_stands; auto.
Qed.

End One.
End Machine.
