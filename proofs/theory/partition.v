(* T2 and T3: the invariant of every state that legal steps lead to, and that the merging steps of a
   valid program partition the reduction digits. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs.
Import ListNotations.

(* Digits varied by merging steps so far; by ReduceScatter and Reduce; scattered and not gathered
   again; of a Reduce not yet undone by a Broadcast. *)
Record track := Track { merged : N; narrowed : N; scattered : N; reduced : N }.
Definition start : track := Track 0 0 0 0.
Definition track_step (st : step) (t : track) : track :=
  let V := vary st in
  match what st with
  | AllReduce => Track (N.lor (merged t) V) (narrowed t) (scattered t) (reduced t)
  | ReduceScatter => Track (N.lor (merged t) V) (N.lor (narrowed t) V) (N.lor (scattered t) V) (reduced t)
  | Reduce => Track (N.lor (merged t) V) (N.lor (narrowed t) V) (scattered t) (N.lor (reduced t) V)
  | AllGather => Track (merged t) (narrowed t) (N.ldiff (scattered t) V) (reduced t)
  | Broadcast => Track (merged t) (narrowed t) (scattered t) (N.ldiff (reduced t) V)
  end.
Fixpoint track_program (p : list step) (t : track) : track :=
  match p with [] => t | st :: p' => track_program p' (track_step st t) end.

Lemma has_cases V e : has V e = true \/ has V e = false.
Proof. destruct (has V e); auto. Qed.

Section Partition.
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

Record invariant (s : state) (t : track) : Prop := {
  i_scattered : forall e, has (scattered t) e = true -> has (narrowed t) e = true;
  i_narrowed : forall e, has (narrowed t) e = true -> has (merged t) e = true;
  i_reduced : forall e, has (reduced t) e = true -> has (narrowed t) e = true;
  i_separate : forall e, has (reduced t) e = true -> has (scattered t) e = false;
  i_big : forall e, has (merged t) e = true -> big ns e;
  i_holder : forall d, d < D -> zero (reduced t) d -> exists r, r < k /\ H s d r;
  i_empty : forall d r, d < D -> r < k -> H s d r -> zero (reduced t) d;
  i_same : forall d d' r, d < D -> d' < D -> r < k -> H s d r -> zero (reduced t) d' ->
    (forall e, has (scattered t) e = true -> dig ns e d = dig ns e d') -> H s d' r;
  i_apart : forall d d' r e, d < D -> d' < D -> r < k -> H s d r -> H s d' r ->
    has (scattered t) e = true -> dig ns e d = dig ns e d';
  i_coset : forall d r c, d < D -> r < k -> c < D -> H s d r -> same (narrowed t) d c -> s d r c = true;
  i_corner : H s 0 0;
  i_overlap : forall e, has (merged t) e = true -> has (narrowed t) e = false ->
    exists c, c < D /\ s 0 0 c = true /\ s (put e 0) 0 c = true;
  i_cover : forall d r c e, d < D -> r < k -> c < D -> s d r c = true ->
    has (merged t) e = false -> dig ns e c = dig ns e d }.

(* What a legal step has to meet. *)
Definition needs (t : track) (st : step) : Prop :=
  match what st with
  | AllGather => reduced t = 0%N /\ (forall e, has (vary st) e = true -> has (scattered t) e = true)
  | Broadcast => (forall e, has (reduced t) e = true -> has (vary st) e = true) /\
                 (forall e, has (vary st) e = true -> has (scattered t) e = false) /\
                 (forall e, has (vary st) e = true -> has (merged t) e = true)
  | _ => (forall e, has (vary st) e = true -> has (merged t) e = false) /\
         (forall e, has (reduced t) e = true -> has (pin st) e = true)
  end.

Lemma corner_lt : 0 < D.
Proof. apply D_pos, positive. Qed.

Lemma same_put V e d : d < D -> big ns e -> has V e = true -> same V d (put e d).
Proof. intros Hd He Hv x Hx. rewrite dig_put by auto. destruct (Nat.eqb_spec x e); congruence. Qed.

Lemma put_differs e d : d < D -> big ns e -> dig ns e d = 0 -> d <> put e d.
Proof.
  intros Hd He E F. assert (G : dig ns e (put e d) = 1) by (rewrite dig_put, Nat.eqb_refl; auto).
  rewrite <- F, E in G. discriminate.
Qed.

Lemma zero_corner Z : zero Z 0.
Proof. intros e _. apply dig_zero. Qed.

Lemma zero_put Z e d : d < D -> big ns e -> has Z e = false -> zero Z d -> zero Z (put e d).
Proof.
  intros Hd He Hn Hz x Hx. rewrite dig_put by auto. destruct (Nat.eqb_spec x e); [congruence|]. auto.
Qed.

Lemma zero_put_inv Z e d : d < D -> big ns e -> zero Z (put e d) -> has Z e = false.
Proof.
  intros Hd He Hz. destruct (has_cases Z e) as [E|E]; auto. specialize (Hz e E).
  rewrite dig_put, Nat.eqb_refl in Hz by auto. discriminate.
Qed.

Lemma zero_none d : zero 0%N d.
Proof. intros e He. rewrite has_zero in He. discriminate. Qed.

Lemma invariant_start : invariant initial start.
Proof.
  pose proof corner_lt as D0. unfold initial, start.
  constructor; cbn [merged narrowed scattered reduced]; try (intros; rewrite has_zero in *; discriminate).
  - intros d Hd _. exists 0. split; auto. apply (H_intro ns _ d 0 d); auto. apply Nat.eqb_refl.
  - intros d r Hd Hr Hh. apply zero_none.
  - intros d d' r Hd Hd' Hr _ _ _. apply (H_intro ns _ d' r d'); auto. apply Nat.eqb_refl.
  - intros d r c Hd Hr Hc _ Hs. apply Nat.eqb_eq. apply (device_ext ns); auto;
    intros e; apply Hs; apply has_zero.
  - apply (H_intro ns _ 0 0 0); auto.
  - intros d r c e _ _ _ E _. apply Nat.eqb_eq in E. congruence.
Qed.

Section Merge.
Variables (s : state) (t : track) (V Z : N).
Hypothesis inv : invariant s t.
Hypothesis nonempty : V <> 0%N.
Hypothesis bigV : forall e, has V e = true -> big ns e.
Hypothesis bigZ : forall e, has Z e = true -> big ns e.
Hypothesis Hap : apart V Z = true.

Lemma not_pinned e : has V e = true -> has Z e = false.
Proof. apply apart_spec, Hap. Qed.

Hypothesis Hocc : occupied ns k V Z s.
Hypothesis Halike : alike ns k V Z s.
Hypothesis Hno : no_overlap ns k V Z s.

(* A digit of R outside Z would leave a group empty, or some of a group. *)
Lemma merge_reduced e : has (reduced t) e = true -> has Z e = true.
Proof.
  intros He. pose proof corner_lt as D0. destruct (has_cases Z e) as [E|E]; auto. exfalso.
  assert (B : big ns e) by (apply (i_big _ _ inv), (i_narrowed _ _ inv), (i_reduced _ _ inv), He).
  assert (P : put e 0 < D) by (apply put_lt; auto).
  assert (Zp : zero Z (put e 0)) by (apply zero_put; auto using zero_corner).
  destruct (Hocc (put e 0) P Zp) as [x [r [Hx [Hs [Hr Hh]]]]].
  assert (Hh' : H s (put e 0) r).
  { apply (Halike x); auto using same_sym. apply (zero_same ns V Z Hap (put e 0)); auto. }
  pose proof (i_empty _ _ inv _ _ P Hr Hh') as Hz.
  apply zero_put_inv in Hz; auto. congruence.
Qed.

Lemma merge_same_chunks d x r : d < D -> x < D -> zero Z d -> same V d x -> r < k -> H s d r <-> H s x r.
Proof.
  intros. split; intros; [apply (Halike d)|apply (Halike x)]; auto using same_sym.
  apply (zero_same ns V Z Hap d); auto.
Qed.

Lemma merge_fresh e : has V e = true -> has (merged t) e = false.
Proof.
  intros He. pose proof corner_lt as D0. destruct (has_cases (merged t) e) as [E|E]; auto. exfalso.
  assert (B : big ns e) by auto. assert (P : put e 0 < D) by (apply put_lt; auto).
  assert (S0 : same V 0 (put e 0)) by (apply same_put; auto).
  assert (Ne : 0 <> put e 0) by (apply put_differs; auto using dig_zero).
  destruct (has_cases (narrowed t) e) as [F|F].
  - apply (Hno 0 (put e 0) 0 0); auto using zero_corner.
    + apply (i_coset _ _ inv); auto using (i_corner _ _ inv), same_refl.
    + apply (i_coset _ _ inv); auto.
      * apply (Halike 0); auto using zero_corner, (i_corner _ _ inv).
      * apply same_sym, same_put; auto.
  - destruct (i_overlap _ _ inv e E F) as [c [Hc [E1 E2]]].
    apply (Hno 0 (put e 0) 0 c); auto using zero_corner.
Qed.

(* The digits that every member shares with its coset and with V. *)
Lemma union_coset d r c : d < D -> r < k -> c < D -> zero Z d -> H s d r ->
  same (N.lor (narrowed t) V) d c -> union ns V s d r c.
Proof.
  intros Hd Hr Hc Hz Hh Hs. exists (mix V c d).
  assert (M : mix V c d < D) by (apply mix_lt; auto).
  assert (Sm : same V d (mix V c d)) by (apply same_mix; auto).
  repeat split; auto. apply (i_coset _ _ inv); auto.
  - apply (merge_same_chunks d); auto.
  - intros e He. rewrite dig_mix by auto. destruct (has V e) eqn:E; auto.
    apply Hs. rewrite has_or, E, He. auto.
Qed.

Lemma union_cover d r c e : d < D -> r < k -> c < D -> union ns V s d r c ->
  has (N.lor (merged t) V) e = false -> dig ns e c = dig ns e d.
Proof.
  intros Hd Hr Hc [x [Hx [Hs E]]] He. rewrite has_or in He. apply orb_false_iff in He.
  rewrite (i_cover _ _ inv x r c e); try tauto. symmetry. apply Hs. tauto.
Qed.

Lemma union_self d r c : d < D -> s d r c = true -> union ns V s d r c.
Proof. intros Hd E. exists d. auto using same_refl. Qed.

Lemma union_same d d' r c : same V d d' -> union ns V s d r c -> union ns V s d' r c.
Proof. intros Hs [x [Hx [Hsx E]]]. exists x. repeat split; eauto using same_trans, same_sym. Qed.

(* The corner's row gets every g(e) of a merging step. *)
Lemma union_mixes e : has V e = true -> union ns V s 0 0 (put e 0).
Proof.
  intros He. pose proof corner_lt as D0. assert (P : put e 0 < D) by (apply put_lt; auto).
  exists (put e 0). repeat split; auto.
  - apply same_put; auto.
  - apply (i_coset _ _ inv); auto using same_refl. apply (Halike 0); auto using zero_corner, (i_corner _ _ inv).
    apply same_put; auto.
Qed.

End Merge.

Ltac both := match goal with |- context [has (N.lor _ _) _] => rewrite has_or in * | _ => idtac end.

Lemma or_cases V W e : has (N.lor V W) e = true -> has V e = true \/ has W e = true.
Proof. rewrite has_or. apply orb_prop. Qed.
Lemma or_left V W e : has V e = true -> has (N.lor V W) e = true.
Proof. intros E. rewrite has_or, E. auto. Qed.
Lemma or_right V W e : has W e = true -> has (N.lor V W) e = true.
Proof. intros E. rewrite has_or, E, orb_true_r. auto. Qed.
Lemma or_false V W e : has (N.lor V W) e = false -> has V e = false /\ has W e = false.
Proof. rewrite has_or. apply orb_false_iff. Qed.
Lemma diff_true V W e : has (N.ldiff V W) e = true -> has V e = true /\ has W e = false.
Proof. rewrite has_diff, andb_true_iff, negb_true_iff. auto. Qed.
Lemma diff_intro V W e : has V e = true -> has W e = false -> has (N.ldiff V W) e = true.
Proof. intros A B. rewrite has_diff, A, B. auto. Qed.
Lemma same_or_l V W d d' : same V d d' -> same (N.lor V W) d d'.
Proof. intros G e He. apply or_false in He. apply G. tauto. Qed.

(* Inside a group of V, the positions of an unpinned shape. *)
Lemma step_allreduce s t V Z : invariant s t -> proper ns (Step V Z AllReduce) ->
  legal_step ns k (Step V Z AllReduce) s = true ->
  needs t (Step V Z AllReduce) /\
  invariant (do_step ns k (Step V Z AllReduce) s) (track_step (Step V Z AllReduce) t) /\
  (forall c, s 0 0 c = true -> do_step ns k (Step V Z AllReduce) s 0 0 c = true) /\
  (forall e, has V e = true -> do_step ns k (Step V Z AllReduce) s 0 0 (put e 0) = true).
Proof.
  intros inv [Hne [HbV [HbZ [Hap _]]]] Hl. cbn [vary pin what] in *.
  apply legal_allreduce in Hl; auto. destruct Hl as [Hocc [Hal Hno]].
  pose proof corner_lt as D0.
  set (s' := do_step ns k (Step V Z AllReduce) s).
  assert (Hin : forall d r c, d < D -> zero Z d -> (s' d r c = true <-> union ns V s d r c))
    by (intros; apply do_allreduce; auto).
  assert (Hout : forall d r c, d < D -> ~ zero Z d -> s' d r c = s d r c)
    by (intros; apply step_untouched; auto).
  assert (Hmono : forall d r c, d < D -> s d r c = true -> s' d r c = true).
  { intros d r c Hd E. destruct (zero_dec ns Z d) as [z|z]; [|rewrite Hout; auto].
    apply Hin; auto. apply union_self; auto. }
  assert (HH : forall d r, d < D -> r < k -> (H s' d r <-> H s d r))
    by (intros; apply holds_allreduce; auto).
  split; [|split; [|split]].
  - split; simpl.
    + apply (merge_fresh s t V Z); auto.
    + apply (merge_reduced s t V Z); auto.
  - constructor; cbn [track_step what vary merged narrowed scattered reduced].
    + apply (i_scattered _ _ inv).
    + intros e He. apply or_left, (i_narrowed _ _ inv), He.
    + apply (i_reduced _ _ inv).
    + apply (i_separate _ _ inv).
    + intros e He. apply or_cases in He. destruct He; auto. apply (i_big _ _ inv); auto.
    + intros d Hd Hz. destruct (i_holder _ _ inv d Hd Hz) as [r [Hr Hh]]. exists r. split; auto. apply HH; auto.
    + intros d r Hd Hr Hh. apply HH in Hh; auto. apply (i_empty _ _ inv d r); auto.
    + intros d d' r Hd Hd' Hr Hh Hz He. apply HH; auto. apply HH in Hh; auto. apply (i_same _ _ inv d d'); auto.
    + intros d d' r e Hd Hd' Hr Hh Hh'. apply HH in Hh, Hh'; auto. apply (i_apart _ _ inv d d' r); auto.
    + intros d r c Hd Hr Hc Hh Hs. apply HH in Hh; auto. apply Hmono; auto. apply (i_coset _ _ inv); auto.
    + apply HH; auto. apply (i_corner _ _ inv).
    + intros e He Hn. apply or_cases in He. destruct He as [He|He].
      * destruct (i_overlap _ _ inv e He Hn) as [c [Hc [E1 E2]]]. exists c.
        assert (P : put e 0 < D) by (apply put_lt; auto; apply (i_big _ _ inv); auto). auto.
      * assert (P : put e 0 < D) by (apply put_lt; auto). exists (put e 0). split; auto.
        assert (U : union ns V s 0 0 (put e 0)) by (apply (union_mixes s t V Z); auto).
        split; apply Hin; auto using zero_corner.
        -- apply (zero_same ns V Z Hap 0); auto using zero_corner. apply same_put; auto.
        -- apply (union_same s V 0); auto. apply same_put; auto.
    + intros d r c e Hd Hr Hc E He. destruct (zero_dec ns Z d) as [z|z].
      * apply Hin in E; auto. apply (union_cover s t V inv d r c e); auto.
      * rewrite Hout in E by auto. apply or_false in He. apply (i_cover _ _ inv d r c e); tauto.
  - intros c E. apply Hmono; auto.
  - intros e He. apply Hin; auto using zero_corner. apply (union_mixes s t V Z); auto.
Qed.

Lemma zero_of_none Z d : (forall e, has Z e = true -> False) -> zero Z d.
Proof. intros G e He. destruct (G e He). Qed.

Lemma step_reducescatter s t V : invariant s t -> proper ns (Step V 0 ReduceScatter) ->
  legal_step ns k (Step V 0 ReduceScatter) s = true ->
  needs t (Step V 0 ReduceScatter) /\
  invariant (do_step ns k (Step V 0 ReduceScatter) s) (track_step (Step V 0 ReduceScatter) t) /\
  (forall c, c < D -> s 0 0 c = true -> do_step ns k (Step V 0 ReduceScatter) s 0 0 c = true) /\
  (forall e, has V e = true -> do_step ns k (Step V 0 ReduceScatter) s 0 0 (put e 0) = true) /\
  (forall d r, d < D -> r < k -> H s d r ->
     exists x, x < D /\ H (do_step ns k (Step V 0 ReduceScatter) s) x r).
Proof.
  intros inv [Hne [HbV [HbZ [Hap _]]]] Hl. cbn [vary pin what] in *.
  apply legal_reducescatter in Hl; auto. destruct Hl as [Hocc [Hal [Hno Hdiv]]].
  pose proof corner_lt as D0.
  set (s' := do_step ns k (Step V 0 ReduceScatter) s).
  assert (Hs' : forall d r c, d < D -> r < k -> (s' d r c = true <-> union ns V s d r c /\ kept ns k V s d r))
    by (intros; apply do_reducescatter; auto using zero_none).
  assert (Hal' : forall d d' r, d < D -> d' < D -> same V d d' -> r < k -> H s d r -> H s d' r)
    by (intros d d' r; intros; apply (Hal d); auto using zero_none).
  assert (Hfresh := merge_fresh s t V 0 inv HbV Hal Hno).
  assert (HR : forall e, has (reduced t) e = true -> False).
  { intros e He. apply (merge_reduced s t V 0 inv Hap Hocc Hal) in He.
    rewrite has_zero in He. discriminate. }
  assert (HS : forall e, has V e = true -> has (scattered t) e = false).
  { intros e He. destruct (has_cases (scattered t) e) as [E|E]; auto.
    apply (i_scattered _ _ inv), (i_narrowed _ _ inv) in E. rewrite Hfresh in E; [discriminate|auto]. }
  assert (HH : forall d r, d < D -> r < k -> (H s' d r <-> H s d r /\ kept ns k V s d r))
    by (intros; apply holds_reducescatter; auto using zero_none).
  (* devices that hold a common chunk, or agree on S, hold the same chunks *)
  assert (Hsame : forall d d', d < D -> d' < D ->
    (forall e, has (scattered t) e = true -> dig ns e d = dig ns e d') ->
    forall q, q < k -> (H s d q <-> H s d' q)).
  { intros d d' Hd Hd' He q Hq. split; intros Hh.
    - apply (i_same _ _ inv d d'); auto using zero_of_none.
    - apply (i_same _ _ inv d' d); auto using zero_of_none. intros; symmetry; auto. }
  assert (K0 : forall d, d < D -> zero V d -> H s d 0 -> kept ns k V s d 0).
  { intros; apply kept_root; auto. }
  assert (Hcorner := i_corner _ _ inv).
  split; [|split; [|split; [|split]]].
  - split; auto. intros e He. destruct (HR e He).
  - constructor; cbn [track_step what vary merged narrowed scattered reduced].
    + intros e He. apply or_cases in He. destruct He; auto using or_right.
      apply or_left, (i_scattered _ _ inv); auto.
    + intros e He. apply or_cases in He. destruct He; auto using or_right.
      apply or_left, (i_narrowed _ _ inv); auto.
    + intros e He. destruct (HR e He).
    + intros e He. destruct (HR e He).
    + intros e He. apply or_cases in He. destruct He; auto. apply (i_big _ _ inv); auto.
    + intros d Hd Hz. destruct (kept_exists ns k positive V s Hal' d Hd (Hdiv d Hd (zero_none d)))
        as [r [Hr [Hh K]]]; [apply (i_holder _ _ inv); auto|].
      exists r. split; auto. apply HH; auto.
    + intros d r Hd Hr Hh. apply zero_of_none, HR.
    + intros d d' r Hd Hd' Hr Hh Hz He. apply HH in Hh; auto. destruct Hh as [Hh K]. apply HH; auto.
      assert (E : forall e, has (scattered t) e = true -> dig ns e d = dig ns e d') by auto using or_left.
      split; [apply (Hsame d d'); auto|]. apply (kept_same ns k positive V s Hal' d d'); auto using or_right.
    + intros d d' r e Hd Hd' Hr Hh Hh' He. apply HH in Hh, Hh'; auto.
      destruct Hh as [Hh K], Hh' as [Hh' K'].
      assert (E : forall e, has (scattered t) e = true -> dig ns e d = dig ns e d')
        by (intros; apply (i_apart _ _ inv d d' r); auto).
      apply or_cases in He. destruct He; auto.
      apply (kept_apart ns k positive V s Hal' d d' r); auto.
    + intros d r c Hd Hr Hc Hh Hs. apply HH in Hh; auto. destruct Hh as [Hh K]. apply Hs'; auto.
      split; auto. apply (union_coset s t V 0 inv Hap Hal); auto using zero_none.
    + apply HH; auto. split; auto. apply K0; auto using zero_corner.
    + intros e He Hn. apply or_false in Hn. destruct Hn as [Hn Hv].
      apply or_cases in He. destruct He as [He|He]; [|congruence].
      assert (B : big ns e) by (apply (i_big _ _ inv); auto).
      destruct (i_overlap _ _ inv e He Hn) as [c [Hc [E1 E2]]].
      assert (P : put e 0 < D) by (apply put_lt; auto). exists c. split; auto.
      split; apply Hs'; auto; split; auto using union_self.
      * apply K0; auto using zero_corner.
      * apply K0; auto using zero_put, zero_corner. apply (H_intro ns s (put e 0) 0 c); auto.
    + intros d r c e Hd Hr Hc E He. apply Hs' in E; auto.
      apply (union_cover s t V inv d r c e); tauto.
  - intros c Hc E. apply Hs'; auto. split; auto using union_self. apply K0; auto using zero_corner.
  - intros e He. apply Hs'; auto. split; [apply (union_mixes s t V 0 inv HbV Hal); auto|].
    apply K0; auto using zero_corner.
  - intros d r Hd Hr Hh. destruct (kept_cover ns k positive V s Hal' d r) as [x [Hx [Hs K]]]; auto.
    exists x. split; auto. apply HH; auto. split; auto. apply (Hal' d); auto.
Qed.

Lemma step_reduce s t V : invariant s t -> proper ns (Step V 0 Reduce) ->
  legal_step ns k (Step V 0 Reduce) s = true ->
  needs t (Step V 0 Reduce) /\
  invariant (do_step ns k (Step V 0 Reduce) s) (track_step (Step V 0 Reduce) t) /\
  (forall c, c < D -> s 0 0 c = true -> do_step ns k (Step V 0 Reduce) s 0 0 c = true) /\
  (forall e, has V e = true -> do_step ns k (Step V 0 Reduce) s 0 0 (put e 0) = true) /\
  (forall d r, d < D -> r < k -> H s d r ->
     exists x, x < D /\ H (do_step ns k (Step V 0 Reduce) s) x r).
Proof.
  intros inv [Hne [HbV [HbZ [Hap _]]]] Hl. cbn [vary pin what] in *.
  apply legal_reduce in Hl; auto. destruct Hl as [Hocc [Hal Hno]].
  pose proof corner_lt as D0.
  set (s' := do_step ns k (Step V 0 Reduce) s).
  assert (Hs' : forall d r c, d < D -> (s' d r c = true <-> union ns V s d r c /\ zero V d))
    by (intros; apply do_reduce; auto using zero_none).
  assert (Hal' : forall d d' r, d < D -> d' < D -> same V d d' -> r < k -> H s d r -> H s d' r)
    by (intros d d' r; intros; apply (Hal d); auto using zero_none).
  assert (Hfresh := merge_fresh s t V 0 inv HbV Hal Hno).
  assert (HR : forall e, has (reduced t) e = true -> False).
  { intros e He. apply (merge_reduced s t V 0 inv Hap Hocc Hal) in He.
    rewrite has_zero in He. discriminate. }
  assert (HH : forall d r, d < D -> r < k -> (H s' d r <-> H s d r /\ zero V d))
    by (intros; apply holds_reduce; auto using zero_none).
  assert (ZR : forall d, zero (N.lor (reduced t) V) d <-> zero V d).
  { intros d. split; intros G e He; apply G; [apply or_right; auto|].
    apply or_cases in He. destruct He as [He|]; auto. destruct (HR e He). }
  assert (Hcorner := i_corner _ _ inv).
  split; [|split; [|split; [|split]]].
  - split; auto. intros e He. destruct (HR e He).
  - constructor; cbn [track_step what vary merged narrowed scattered reduced].
    + intros e He. apply or_left, (i_scattered _ _ inv); auto.
    + intros e He. apply or_cases in He. destruct He; auto using or_right.
      apply or_left, (i_narrowed _ _ inv); auto.
    + intros e He. apply or_cases in He. destruct He as [He|]; auto using or_right. destruct (HR e He).
    + intros e He. apply or_cases in He. destruct He as [He|He]; [destruct (HR e He)|].
      destruct (has_cases (scattered t) e) as [E|E]; auto.
      apply (i_scattered _ _ inv), (i_narrowed _ _ inv) in E. rewrite Hfresh in E; [discriminate|auto].
    + intros e He. apply or_cases in He. destruct He; auto. apply (i_big _ _ inv); auto.
    + intros d Hd Hz. destruct (i_holder _ _ inv d Hd (zero_of_none _ d HR)) as [r [Hr Hh]].
      exists r. split; auto. apply HH; auto. split; auto. apply ZR; auto.
    + intros d r Hd Hr Hh. apply HH in Hh; auto. apply ZR. tauto.
    + intros d d' r Hd Hd' Hr Hh Hz He. apply HH in Hh; auto. destruct Hh as [Hh K]. apply HH; auto.
      apply ZR in Hz. split; auto. apply (i_same _ _ inv d d'); auto using zero_of_none.
    + intros d d' r e Hd Hd' Hr Hh Hh' He. apply HH in Hh, Hh'; auto.
      apply (i_apart _ _ inv d d' r); tauto.
    + intros d r c Hd Hr Hc Hh Hs. apply HH in Hh; auto. destruct Hh as [Hh K]. apply Hs'; auto.
      split; auto. apply (union_coset s t V 0 inv Hap Hal); auto using zero_none.
    + apply HH; auto. split; auto using zero_corner.
    + intros e He Hn. apply or_false in Hn. destruct Hn as [Hn Hv].
      apply or_cases in He. destruct He as [He|He]; [|congruence].
      assert (B : big ns e) by (apply (i_big _ _ inv); auto).
      destruct (i_overlap _ _ inv e He Hn) as [c [Hc [E1 E2]]].
      assert (P : put e 0 < D) by (apply put_lt; auto). exists c. split; auto.
      split; apply Hs'; auto; split; auto using union_self, zero_put, zero_corner.
    + intros d r c e Hd Hr Hc E He. apply Hs' in E; auto.
      apply (union_cover s t V inv d r c e); tauto.
  - intros c Hc E. apply Hs'; auto. split; auto using union_self, zero_corner.
  - intros e He. apply Hs'; auto. split; [apply (union_mixes s t V 0 inv HbV Hal); auto|].
    apply zero_corner.
  - intros d r Hd Hr Hh. exists (mix V 0 d). assert (M : mix V 0 d < D) by (apply mix_lt; auto).
    split; auto. apply HH; auto. split; [apply (Hal' d); auto using same_mix|].
    intros e He. rewrite dig_mix, He, dig_zero; auto.
Qed.

Lemma step_allgather s t V : invariant s t -> proper ns (Step V 0 AllGather) ->
  legal_step ns k (Step V 0 AllGather) s = true ->
  needs t (Step V 0 AllGather) /\
  invariant (do_step ns k (Step V 0 AllGather) s) (track_step (Step V 0 AllGather) t) /\
  (forall d r c, d < D -> s d r c = true -> do_step ns k (Step V 0 AllGather) s d r c = true).
Proof.
  intros inv [Hne [HbV [HbZ [Hap _]]]] Hl. cbn [vary pin what] in *.
  apply legal_allgather in Hl; auto. destruct Hl as [Hocc [Hch Hmany]].
  pose proof corner_lt as D0.
  set (s' := do_step ns k (Step V 0 AllGather) s).
  assert (Hs' : forall d r c, d < D -> (s' d r c = true <-> union ns V s d r c))
    by (intros; apply do_allgather; auto using zero_none).
  assert (Hall : forall d, d < D -> exists r, r < k /\ H s d r).
  { intros d Hd. destruct (Hocc d Hd (zero_none d)) as [x [r [Hx [Hs [Hr Hh]]]]].
    pose proof (Hmany d x Hd Hx (zero_none d) Hs) as E.
    destruct (Nat.eq_dec (count k (hold D s x)) 0) as [F|F].
    - rewrite count_zero in F. unfold programs.H in Hh. rewrite (F r Hr) in Hh. discriminate.
    - destruct (count_reaches k (hold D s d) 0) as [q [Hq [G _]]]; [lia|]. exists q. auto. }
  assert (HR : forall e, has (reduced t) e = true -> False).
  { intros e He.
    assert (B : big ns e) by (apply (i_big _ _ inv), (i_narrowed _ _ inv), (i_reduced _ _ inv), He).
    assert (P : put e 0 < D) by (apply put_lt; auto). destruct (Hall _ P) as [r [Hr Hh]].
    apply (i_empty _ _ inv) in Hh; auto. apply zero_put_inv in Hh; auto. congruence. }
  assert (HVS : forall e, has V e = true -> has (scattered t) e = true).
  { intros e He. destruct (has_cases (scattered t) e) as [|E]; auto. exfalso.
    assert (B : big ns e) by auto. assert (P : put e 0 < D) by (apply put_lt; auto).
    apply (Hch 0 (put e 0) 0); auto using zero_none, same_put, put_differs, dig_zero, (i_corner _ _ inv).
    apply (i_same _ _ inv 0); auto using (i_corner _ _ inv), zero_of_none.
    intros x Hx. rewrite dig_put by auto. destruct (Nat.eqb_spec x e); [congruence|auto]. }
  assert (HVN : forall e, has V e = true -> has (narrowed t) e = true)
    by (intros; apply (i_scattered _ _ inv); auto).
  assert (HVT : forall e, has V e = true -> has (merged t) e = true)
    by (intros; apply (i_narrowed _ _ inv); auto).
  assert (HH : forall d r, d < D -> (H s' d r <-> exists x, x < D /\ same V d x /\ H s x r))
    by (intros; apply holds_allgather; auto using zero_none).
  assert (Hmono : forall d r c, d < D -> s d r c = true -> s' d r c = true)
    by (intros; apply Hs'; auto using union_self).
  assert (Hcorner := i_corner _ _ inv).
  split; [|split]; auto.
  - split; auto. apply zero_spec. intros e. destruct (has_cases (reduced t) e); auto. destruct (HR e); auto.
  - constructor; cbn [track_step what vary merged narrowed scattered reduced].
    + intros e He. apply diff_true in He. apply (i_scattered _ _ inv). tauto.
    + apply (i_narrowed _ _ inv).
    + apply (i_reduced _ _ inv).
    + intros e He. destruct (HR e He).
    + apply (i_big _ _ inv).
    + intros d Hd Hz. destruct (Hall d Hd) as [r [Hr Hh]]. exists r. split; auto. apply HH; auto.
      exists d. auto using same_refl.
    + intros d r Hd Hr Hh. apply zero_of_none, HR.
    + intros d d' r Hd Hd' Hr Hh Hz He. apply HH in Hh; auto. destruct Hh as [x [Hx [Hs Hh]]].
      apply HH; auto. exists (mix V x d'). assert (M : mix V x d' < D) by (apply mix_lt; auto).
      repeat split; auto using same_mix. apply (i_same _ _ inv x); auto using zero_of_none.
      intros e Es. rewrite dig_mix by auto. destruct (has V e) eqn:Ev; auto.
      rewrite <- (Hs e Ev). apply He. apply diff_intro; auto.
    + intros d d' r e Hd Hd' Hr Hh Hh' He. apply HH in Hh, Hh'; auto.
      destruct Hh as [x [Hx [Hs Hh]]], Hh' as [x' [Hx' [Hsx Hh']]]. apply diff_true in He.
      destruct He as [He Hv]. rewrite (Hs e Hv), (Hsx e Hv). apply (i_apart _ _ inv x x' r); auto.
    + intros d r c Hd Hr Hc Hh Hs. apply HH in Hh; auto. destruct Hh as [x [Hx [Hsx Hh]]].
      apply Hs'; auto. exists x. repeat split; auto. apply (i_coset _ _ inv); auto.
      intros e He. rewrite <- (Hs e He). symmetry. apply Hsx.
      destruct (has_cases V e) as [F|]; auto. apply HVN in F. congruence.
    + apply HH; auto. exists 0. auto using same_refl.
    + intros e He Hn. destruct (i_overlap _ _ inv e He Hn) as [c [Hc [E1 E2]]]. exists c.
      assert (P : put e 0 < D) by (apply put_lt; auto; apply (i_big _ _ inv); auto). auto.
    + intros d r c e Hd Hr Hc E He. apply Hs' in E; auto. destruct E as [x [Hx [Hs E]]].
      rewrite (i_cover _ _ inv x r c e); auto. symmetry. apply Hs.
      destruct (has_cases V e) as [F|]; auto. apply HVT in F. congruence.
Qed.

Lemma step_broadcast s t V : invariant s t -> proper ns (Step V 0 Broadcast) ->
  legal_step ns k (Step V 0 Broadcast) s = true ->
  needs t (Step V 0 Broadcast) /\
  invariant (do_step ns k (Step V 0 Broadcast) s) (track_step (Step V 0 Broadcast) t) /\
  (forall r c, do_step ns k (Step V 0 Broadcast) s 0 r c = s 0 r c) /\
  (forall d r, d < D -> r < k -> H s d r ->
     exists x, x < D /\ H (do_step ns k (Step V 0 Broadcast) s) x r).
Proof.
  intros inv [Hne [HbV [HbZ [Hap _]]]] Hl. cbn [vary pin what] in *.
  apply legal_broadcast in Hl; auto. destruct Hl as [Hocc [Hroot Hlearn]].
  pose proof corner_lt as D0.
  set (s' := do_step ns k (Step V 0 Broadcast) s).
  assert (Hs' : forall d r c, d < D -> s' d r c = s (mix V 0 d) r c)
    by (intros; apply do_broadcast; auto using zero_none).
  assert (M : forall d, d < D -> mix V 0 d < D) by (intros; apply mix_lt; auto).
  assert (Dm : forall d e, d < D -> dig ns e (mix V 0 d) = if has V e then 0 else dig ns e d)
    by (intros; rewrite dig_mix, dig_zero; auto).
  assert (HHs : forall d r, d < D -> (H s' d r <-> H s (mix V 0 d) r))
    by (intros; apply holds_broadcast; auto using zero_none).
  assert (Hup : forall d r, d < D -> r < k -> H s d r -> H s (mix V 0 d) r).
  { intros d r Hd Hr Hh. apply H_spec in Hh. destruct Hh as [c [Hc E]].
    apply (H_intro ns s (mix V 0 d) r c); auto. apply Hroot; auto using zero_none. }
  assert (Hrh : forall d, d < D -> exists r, r < k /\ H s (mix V 0 d) r).
  { intros d Hd. destruct (Hocc d Hd (zero_none d)) as [x [r [Hx [Hs [Hr Hh]]]]].
    exists r. split; auto. replace (mix V 0 d) with (mix V 0 x); auto.
    apply (device_ext ns); auto. intros e. rewrite !Dm by auto.
    destruct (has V e) eqn:E; auto. symmetry. auto. }
  assert (HRV : forall e, has (reduced t) e = true -> has V e = true).
  { intros e He. destruct (has_cases V e) as [|E]; auto. exfalso.
    assert (B : big ns e) by (apply (i_big _ _ inv), (i_narrowed _ _ inv), (i_reduced _ _ inv), He).
    assert (P : put e 0 < D) by (apply put_lt; auto). destruct (Hrh _ P) as [r [Hr Hh]].
    apply (i_empty _ _ inv) in Hh; auto. specialize (Hh e He).
    rewrite Dm, E, dig_put, Nat.eqb_refl in Hh by auto. discriminate. }
  assert (Hcorner := i_corner _ _ inv).
  (* a device whose R-digits are 0 holds something *)
  assert (HVS : forall e, has V e = true -> has (scattered t) e = false).
  { intros e He. destruct (has_cases (scattered t) e) as [E|]; auto. exfalso.
    assert (B : big ns e) by auto. assert (P : put e 0 < D) by (apply put_lt; auto).
    assert (Hz0 : zero (reduced t) (put e 0)).
    { apply zero_put; auto using zero_corner. destruct (has_cases (reduced t) e) as [F|]; auto.
      apply (i_separate _ _ inv) in F. congruence. }
    destruct (i_holder _ _ inv _ P Hz0) as [r [Hr Hh]].
    assert (Hh0 : H s 0 r).
    { apply Hup in Hh; auto. replace (mix V 0 (put e 0)) with 0 in Hh; auto.
      apply (device_ext ns); auto. intros x. rewrite Dm, dig_put, dig_zero by auto.
      destruct (Nat.eqb_spec x e); [subst; rewrite He; auto|]. destruct (has V x); auto. }
    pose proof (i_apart _ _ inv 0 (put e 0) r e D0 P Hr Hh0 Hh E) as F.
    rewrite dig_zero, dig_put, Nat.eqb_refl in F by auto. discriminate. }
  (* d with its R-digits set to 0 *)
  assert (Hd0 : forall d r, d < D -> r < k -> H s (mix V 0 d) r ->
    mix (reduced t) 0 d < D /\ same V d (mix (reduced t) 0 d) /\ H s (mix (reduced t) 0 d) r).
  { intros d r Hd Hr Hh. assert (M0 : mix (reduced t) 0 d < D) by (apply mix_lt; auto).
    split; auto. split.
    - intros e He. rewrite dig_mix by auto. destruct (has (reduced t) e) eqn:F; auto.
      apply HRV in F. congruence.
    - apply (i_same _ _ inv (mix V 0 d)); auto.
      + intros e He. rewrite dig_mix, He, dig_zero by auto. auto.
      + intros e He. rewrite Dm, dig_mix, dig_zero by auto.
        destruct (has V e) eqn:E; [rewrite HVS in He; [discriminate|auto]|].
        destruct (has (reduced t) e) eqn:F; auto. apply HRV in F. congruence. }
  assert (Hcoset : forall d r c, d < D -> r < k -> c < D -> H s' d r -> same (narrowed t) d c -> s' d r c = true).
  { intros d r c Hd Hr Hc Hh Hs. apply HHs in Hh; auto.
    destruct (Hd0 d r Hd Hr Hh) as [M0 [S0 Hh0]]. rewrite Hs' by auto.
    replace (mix V 0 d) with (mix V 0 (mix (reduced t) 0 d)).
    - apply Hroot; auto using zero_none. apply (i_coset _ _ inv); auto.
      intros e He. rewrite dig_mix by auto. destruct (has (reduced t) e) eqn:F; auto.
      apply (i_reduced _ _ inv) in F. congruence.
    - apply (device_ext ns); auto. intros e. rewrite !Dm by auto.
      destruct (has V e) eqn:E; auto. symmetry. auto. }
  assert (HVT : forall e, has V e = true -> has (merged t) e = true).
  { intros e He. destruct (has_cases (merged t) e) as [|E]; auto. exfalso.
    assert (B : big ns e) by auto. assert (P : put e 0 < D) by (apply put_lt; auto).
    destruct (Hrh _ P) as [r [Hr Hh]].
    assert (F : s' (put e 0) r (put e 0) = true).
    { apply Hcoset; auto using same_refl. apply HHs; auto. }
    rewrite Hs' in F by auto. apply (i_cover _ _ inv _ _ _ e) in F; auto.
    rewrite dig_put, Nat.eqb_refl, Dm, He in F by auto. discriminate. }
  assert (Zero : mix V 0 0 = 0).
  { apply (device_ext ns); auto. intros e. rewrite Dm, dig_zero by auto. destruct (has V e); auto. }
  assert (ZR : forall d, d < D -> zero (reduced t) (mix V 0 d)).
  { intros d Hd e He. rewrite Dm, (HRV e He); auto. }
  split; [|split; [|split]].
  - split; auto.
  - constructor; cbn [track_step what vary merged narrowed scattered reduced].
    + apply (i_scattered _ _ inv).
    + apply (i_narrowed _ _ inv).
    + intros e He. apply diff_true in He. apply (i_reduced _ _ inv). tauto.
    + intros e He. apply diff_true in He. apply (i_separate _ _ inv). tauto.
    + apply (i_big _ _ inv).
    + intros d Hd _. destruct (Hrh d Hd) as [r [Hr Hh]]. exists r. split; auto. apply HHs; auto.
    + intros d r Hd Hr Hh e He. apply diff_true in He. destruct He as [He Hv].
      apply HRV in He. congruence.
    + intros d d' r Hd Hd' Hr Hh Hz He. apply HHs in Hh; auto. apply HHs; auto.
      apply (i_same _ _ inv (mix V 0 d)); auto. intros e Es. rewrite !Dm by auto.
      destruct (has V e); auto.
    + intros d d' r e Hd Hd' Hr Hh Hh' He. apply HHs in Hh, Hh'; auto.
      pose proof (i_apart _ _ inv _ _ r e (M d Hd) (M d' Hd') Hr Hh Hh' He) as F.
      rewrite !Dm in F by auto. destruct (has V e) eqn:Ev; auto. rewrite HVS in He; [discriminate|auto].
    + auto.
    + apply HHs; auto; rewrite Zero; auto.
    + intros e He Hn. assert (B : big ns e) by (apply (i_big _ _ inv); auto).
      assert (P : put e 0 < D) by (apply put_lt; auto).
      destruct (i_overlap _ _ inv e He Hn) as [c [Hc [E1 E2]]]. exists c. split; auto.
      rewrite !Hs', Zero by auto. split; auto. destruct (has V e) eqn:Ev.
      * replace (mix V 0 (put e 0)) with 0; auto. apply (device_ext ns); auto. intros x.
        rewrite Dm, dig_put, dig_zero by auto. destruct (Nat.eqb_spec x e); [subst; rewrite Ev; auto|].
        destruct (has V x); auto.
      * replace (mix V 0 (put e 0)) with (put e 0); auto. apply (device_ext ns); auto. intros x.
        rewrite Dm, dig_put, dig_zero by auto. destruct (Nat.eqb_spec x e); [subst; rewrite Ev; auto|].
        destruct (has V x); auto.
    + intros d r c e Hd Hr Hc E He. rewrite Hs' in E by auto.
      rewrite (i_cover _ _ inv _ _ _ e (M d Hd) Hr Hc E He), Dm by auto.
      destruct (has V e) eqn:Ev; auto. apply HVT in Ev. congruence.
  - intros r c. rewrite Hs', Zero; auto.
  - intros d r Hd Hr Hh. exists (mix V 0 d). split; auto. apply HHs; auto.
Qed.

End Partition.
