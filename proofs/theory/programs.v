(* Programs: steps are shapes with a collective. What legality and effect of a step say of devices. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs.
Import ListNotations.

Record step := Step { vary : N; pin : N; what : collective }.
Definition step_eq_dec (x y : step) : {x = y} + {x <> y}.
Proof. decide equality; try apply N.eq_dec. decide equality. Defined.

(* A step over the digits of the system, in dialect published: only AllReduce pins digits. *)
Definition proper (ns : list nat) (st : step) : Prop :=
  vary st <> 0%N /\ (forall e, has (vary st) e = true -> big ns e) /\
  (forall e, has (pin st) e = true -> big ns e) /\ apart (vary st) (pin st) = true /\
  (pin st <> 0%N -> what st = AllReduce).

Lemma pin_zero ns st : proper ns st -> what st <> AllReduce -> pin st = 0%N.
Proof.
  intros [_ [_ [_ [_ G]]]] Hw. destruct (N.eq_dec (pin st) 0); auto. tauto.
Qed.

Definition step_groups (ns : list nat) (st : step) : list (list nat) := groups ns (vary st) (pin st).

(* k chunks; as many contributors as devices. *)
Definition legal_step (ns : list nat) (k : nat) (st : step) (s : state) : bool :=
  legal_on (what st) k (product ns) (step_groups ns st) s &&
  occupied_on k (product ns) (step_groups ns st) s.
Definition do_step (ns : list nat) (k : nat) (st : step) (s : state) : state :=
  after_on (what st) k (product ns) (step_groups ns st) s.

Fixpoint legal_program (ns : list nat) (k : nat) (p : list step) (s : state) : bool :=
  match p with
  | [] => true
  | st :: p' => legal_step ns k st s && legal_program ns k p' (do_step ns k st s)
  end.
Fixpoint run (ns : list nat) (k : nat) (p : list step) (s : state) : state :=
  match p with [] => s | st :: p' => run ns k p' (do_step ns k st s) end.

Definition initial : state := fun d r c => d =? c.
(* Every device holds, in every chunk, exactly its class: the devices that agree outside red. *)
Definition goal (ns : list nat) (k : nat) (red : N) (s : state) : bool :=
  all (product ns) (fun d => all k (fun r => all (product ns) (fun c =>
    Bool.eqb (s d r c) (sameb ns red d c)))).

Definition valid (ns : list nat) (k : nat) (red : N) (p : list step) : bool :=
  legal_program ns k p initial && goal ns k red (run ns k p initial).

Definition merging (c : collective) : bool :=
  match c with AllReduce | ReduceScatter | Reduce => true | _ => false end.

Section Steps.
Variable ns : list nat.
Variable k : nat.
Notation D := (product ns).
Notation same := (same ns).
Notation zero := (zero ns).
Notation mix := (mix ns).

(* Device d holds chunk r. *)
Definition H (s : state) (d r : nat) : Prop := hold D s d r = true.

Lemma H_spec s d r : H s d r <-> exists c, c < D /\ s d r c = true.
Proof. unfold H, hold. apply some_spec. Qed.
Lemma H_intro (s : state) d r c : c < D -> s d r c = true -> H s d r.
Proof. intros. apply H_spec. eauto. Qed.

Hypothesis positive : positive_sizes ns.

Definition occupied (V Z : N) (s : state) : Prop :=
  forall d, d < D -> zero Z d -> exists x r, x < D /\ same V d x /\ r < k /\ H s x r.
Definition alike (V Z : N) (s : state) : Prop :=
  forall d d' r, d < D -> d' < D -> zero Z d -> same V d d' -> r < k -> H s d r -> H s d' r.
Definition no_overlap (V Z : N) (s : state) : Prop :=
  forall d d' r c, d < D -> d' < D -> zero Z d -> same V d d' -> d <> d' -> r < k -> c < D ->
    s d r c = true -> s d' r c = true -> False.
Definition divisible (V Z : N) (s : state) : Prop :=
  forall d, d < D -> zero Z d -> count k (hold D s (mix V 0 d)) mod length (members ns V d) = 0.
Definition chunks_apart (V Z : N) (s : state) : Prop :=
  forall d d' r, d < D -> d' < D -> zero Z d -> same V d d' -> d <> d' -> r < k ->
    H s d r -> H s d' r -> False.
Definition as_many (V Z : N) (s : state) : Prop :=
  forall d d', d < D -> d' < D -> zero Z d -> same V d d' ->
    count k (hold D s d) = count k (hold D s d').
Definition in_root (V Z : N) (s : state) : Prop :=
  forall d r c, d < D -> zero Z d -> r < k -> c < D -> s d r c = true -> s (mix V 0 d) r c = true.
Definition learns (V Z : N) (s : state) : Prop :=
  forall d, d < D -> zero Z d ->
    exists x r c, x < D /\ same V d x /\ r < k /\ c < D /\ s (mix V 0 d) r c = true /\ s x r c = false.

Section Step.
Variables V Z : N.
Hypothesis Hap : apart V Z = true.

Lemma zero_same d d' : zero Z d -> same V d d' -> zero Z d'.
Proof.
  intros Hz Hs e He. rewrite <- (Hs e); auto. rewrite apart_spec in Hap.
  destruct (has V e) eqn:E; auto. apply Hap in E. congruence.
Qed.

Lemma each_group (P : list nat -> Prop) :
  (forall g, In g (groups ns V Z) -> P g) <-> (forall d, d < D -> zero Z d -> P (members ns V d)).
Proof.
  split.
  - intros G d Hd Hz. apply G. apply in_groups; auto. exists d. auto.
  - intros G g Hg. apply in_groups in Hg; auto. destruct Hg as [d [Hd [Hz ->]]]. auto.
Qed.

Lemma occupied_iff s : occupied_on k D (groups ns V Z) s = true <-> occupied V Z s.
Proof.
  rewrite occupied_on_spec, each_group. unfold occupied.
  split; intros G d Hd Hz; specialize (G d Hd Hz).
  - destruct G as [x [r [c [Hx [Hr [Hc E]]]]]]. apply in_members in Hx. exists x, r.
    repeat split; try tauto. apply (H_intro s x r c); auto.
  - destruct G as [x [r [Hx [Hs [Hr E]]]]]. apply H_spec in E. destruct E as [c [Hc E]].
    exists x, r, c. repeat split; auto. apply in_members; auto.
Qed.

Lemma alike_iff s : (forall d, d < D -> zero Z d -> same_chunks k D s (members ns V d)) <-> alike V Z s.
Proof.
  unfold alike, same_chunks, H. split.
  - intros G d d' r Hd Hd' Hz Hs Hr E. rewrite <- (G d Hd Hz d d'); auto; apply in_members; auto using same_refl.
  - intros G d Hd Hz x x' r Hx Hx' Hr. apply in_members in Hx, Hx'. destruct Hx, Hx'.
    assert (same V x x') by eauto using same_trans, same_sym.
    assert (zero Z x) by (apply (zero_same d); auto). assert (zero Z x') by (apply (zero_same d); auto).
    apply eq_true_iff_eq. split; apply G; auto using same_sym.
Qed.

Lemma no_overlap_iff s : (forall d, d < D -> zero Z d -> disjoint k D s (members ns V d)) <-> no_overlap V Z s.
Proof.
  unfold no_overlap, disjoint. split.
  - intros G d d' r c Hd Hd' Hz Hs Hne Hr Hc E E'.
    apply (G d Hd Hz d d' r c); auto; apply in_members; auto using same_refl.
  - intros G d Hd Hz x x' r c Hx Hx' Hne Hr Hc. apply in_members in Hx, Hx'. destruct Hx, Hx'.
    apply G; auto; eauto using zero_same, same_trans, same_sym.
Qed.

Lemma chunks_apart_iff s :
  (forall d, d < D -> zero Z d -> disjoint_chunks k D s (members ns V d)) <-> chunks_apart V Z s.
Proof.
  unfold chunks_apart, disjoint_chunks, H. split.
  - intros G d d' r Hd Hd' Hz Hs Hne Hr E E'.
    apply (G d Hd Hz d d' r); auto; apply in_members; auto using same_refl.
  - intros G d Hd Hz x x' r Hx Hx' Hne Hr. apply in_members in Hx, Hx'. destruct Hx, Hx'.
    apply G; auto; eauto using zero_same, same_trans, same_sym.
Qed.

Lemma as_many_iff s :
  (forall d, d < D -> zero Z d -> equal_count k D s (members ns V d)) <-> as_many V Z s.
Proof.
  unfold as_many, equal_count. split.
  - intros G d d' Hd Hd' Hz Hs. apply (G d Hd Hz d d'); auto; apply in_members; auto using same_refl.
  - intros G d Hd Hz x x' Hx Hx'. apply in_members in Hx, Hx'. destruct Hx, Hx'.
    apply G; auto; eauto using zero_same, same_trans, same_sym.
Qed.

Lemma in_root_iff s :
  (forall d, d < D -> zero Z d -> contained k D s (members ns V d)) <-> in_root V Z s.
Proof.
  unfold in_root, contained. split.
  - intros G d r c Hd Hz Hr Hc E. rewrite <- hd_members by auto. apply (G d Hd Hz d); auto.
    apply in_members; auto using same_refl.
  - intros G d Hd Hz x r c Hx Hr Hc E. apply in_members in Hx. destruct Hx.
    rewrite (members_eq ns V d x), hd_members by auto. apply G; eauto using zero_same.
Qed.

Lemma learns_iff s :
  (forall d, d < D -> zero Z d -> informative k D s (members ns V d)) <-> learns V Z s.
Proof.
  unfold learns, informative. split; intros G d Hd Hz; specialize (G d Hd Hz);
    rewrite hd_members in * by auto.
  - destruct G as [x [r [c [Hx G]]]]. apply in_members in Hx. exists x, r, c. tauto.
  - destruct G as [x [r [c [Hx [Hs G]]]]]. exists x, r, c. rewrite in_members. tauto.
Qed.

Lemma both_forall (P Q : nat -> Prop) :
  (forall d, d < D -> zero Z d -> P d /\ Q d) <->
  (forall d, d < D -> zero Z d -> P d) /\ (forall d, d < D -> zero Z d -> Q d).
Proof.
  split.
  - intros G. split; intros d Hd Hz; apply G; auto.
  - intros [G G'] d Hd Hz. auto.
Qed.

(* A step is legal where what its collective demands of a group, P, holds of every group. *)
Lemma legal_step_iff c s (P : nat -> Prop) :
  (forall d, d < D -> legal c (length (members ns V d)) k D (view s (members ns V d)) = true <-> P d) ->
  (legal_step ns k (Step V Z c) s = true <-> occupied V Z s /\ forall d, d < D -> zero Z d -> P d).
Proof.
  intros E. unfold legal_step. rewrite andb_true_iff, and_comm. unfold step_groups. cbn [vary pin what].
  rewrite occupied_iff, legal_on_spec, each_group. apply and_iff_compat_l.
  split; intros G d Hd Hz; apply E; auto.
Qed.

Lemma legal_allreduce s :
  legal_step ns k (Step V Z AllReduce) s = true <-> occupied V Z s /\ alike V Z s /\ no_overlap V Z s.
Proof.
  rewrite (legal_step_iff _ s (fun d => same_chunks k D s (members ns V d) /\ disjoint k D s (members ns V d))).
  - rewrite both_forall, alike_iff, no_overlap_iff. tauto.
  - intros d Hd. apply allreduce_legal, NoDup_members.
Qed.

Lemma legal_reduce s :
  legal_step ns k (Step V Z Reduce) s = true <-> occupied V Z s /\ alike V Z s /\ no_overlap V Z s.
Proof.
  rewrite (legal_step_iff _ s (fun d => same_chunks k D s (members ns V d) /\ disjoint k D s (members ns V d))).
  - rewrite both_forall, alike_iff, no_overlap_iff. tauto.
  - intros d Hd. apply reduce_legal, NoDup_members.
Qed.

Lemma legal_reducescatter s :
  legal_step ns k (Step V Z ReduceScatter) s = true
  <-> occupied V Z s /\ alike V Z s /\ no_overlap V Z s /\ divisible V Z s.
Proof.
  rewrite (legal_step_iff _ s (fun d => same_chunks k D s (members ns V d) /\ (disjoint k D s (members ns V d) /\
    count k (hold D s (mix V 0 d)) mod length (members ns V d) = 0))).
  - rewrite both_forall, both_forall, alike_iff, no_overlap_iff. unfold divisible. tauto.
  - intros d Hd. rewrite <- hd_members by auto. 
    apply reducescatter_legal; auto using NoDup_members, members_not_nil.
Qed.

Lemma legal_allgather s :
  legal_step ns k (Step V Z AllGather) s = true
  <-> occupied V Z s /\ chunks_apart V Z s /\ as_many V Z s.
Proof.
  rewrite (legal_step_iff _ s (fun d => disjoint_chunks k D s (members ns V d) /\ equal_count k D s (members ns V d))).
  - rewrite both_forall, chunks_apart_iff, as_many_iff. tauto.
  - intros d Hd. apply allgather_legal, NoDup_members.
Qed.

Lemma legal_broadcast s :
  legal_step ns k (Step V Z Broadcast) s = true <-> occupied V Z s /\ in_root V Z s /\ learns V Z s.
Proof.
  rewrite (legal_step_iff _ s (fun d => contained k D s (members ns V d) /\ informative k D s (members ns V d))).
  - rewrite both_forall, in_root_iff, learns_iff. tauto.
  - intros d Hd. apply broadcast_legal.
Qed.

(* ---- effects ---- *)

Lemma step_untouched c s d r e : d < D -> ~ zero Z d -> do_step ns k (Step V Z c) s d r e = s d r e.
Proof.
  intros Hd Hz. unfold do_step, after_on, step_groups. cbn [vary pin what].
  rewrite find_group_none; auto.
Qed.

Lemma step_touched c s d r e : d < D -> zero Z d ->
  do_step ns k (Step V Z c) s d r e =
  after c (length (members ns V d)) k D (view s (members ns V d)) (position d (members ns V d)) r e.
Proof.
  intros Hd Hz. unfold do_step, after_on, step_groups. cbn [vary pin what].
  rewrite find_group; auto.
Qed.

Definition union (s : state) (d r c : nat) : Prop := exists x, x < D /\ same V d x /\ s x r c = true.

Lemma union_members s d r c : (exists x, In x (members ns V d) /\ s x r c = true) <-> union s d r c.
Proof.
  unfold union. split; intros [x G]; exists x; rewrite in_members in *; tauto.
Qed.

Lemma do_allreduce s d r c : d < D -> zero Z d ->
  (do_step ns k (Step V Z AllReduce) s d r c = true <-> union s d r c).
Proof. intros. rewrite step_touched by auto. rewrite allreduce_after. apply union_members. Qed.

Lemma do_allgather s d r c : d < D -> zero Z d ->
  (do_step ns k (Step V Z AllGather) s d r c = true <-> union s d r c).
Proof. intros. rewrite step_touched by auto. rewrite allgather_after. apply union_members. Qed.

Lemma do_reduce s d r c : d < D -> zero Z d ->
  (do_step ns k (Step V Z Reduce) s d r c = true <-> union s d r c /\ zero V d).
Proof.
  intros. rewrite step_touched by auto. rewrite reduce_after, union_members, position_root; auto using same_refl.
  reflexivity.
Qed.

Lemma do_broadcast s d r c : d < D -> zero Z d ->
  do_step ns k (Step V Z Broadcast) s d r c = s (mix V 0 d) r c.
Proof. intros. rewrite step_touched by auto. rewrite broadcast_after, hd_members; auto. Qed.

(* Position of d in its group; whether chunk r is in the run of d. *)
Definition place (d : nat) : nat := position d (members ns V d).
Definition kept (s : state) (d r : nat) : Prop :=
  in_run (length (members ns V d)) (count k (hold D s (mix V 0 d))) (place d)
         (count r (hold D s (mix V 0 d))).

Lemma do_reducescatter s d r c : d < D -> zero Z d -> r < k ->
  (do_step ns k (Step V Z ReduceScatter) s d r c = true <-> union s d r c /\ kept s d r).
Proof.
  intros. rewrite step_touched by auto. rewrite reducescatter_after, union_members, hd_members by auto.
  reflexivity.
Qed.

(* Who holds what afterwards. *)

Lemma union_holds s d r : (exists c, c < D /\ union s d r c) <-> exists x, x < D /\ same V d x /\ H s x r.
Proof.
  split.
  - intros [c [Hc [x [Hx [Hs E]]]]]. exists x. eauto using H_intro.
  - intros [x [Hx [Hs Hh]]]. apply H_spec in Hh. destruct Hh as [c [Hc E]]. exists c. split; auto. exists x. auto.
Qed.

Lemma union_holds_alike s d r : alike V Z s -> d < D -> zero Z d -> r < k ->
  ((exists c, c < D /\ union s d r c) <-> H s d r).
Proof.
  intros Hal Hd Hz Hr. rewrite union_holds. split.
  - intros [x [Hx [Hs Hh]]]. apply (Hal x); auto using same_sym. apply (zero_same d); auto.
  - intros Hh. exists d. auto using same_refl.
Qed.

Lemma holds_allreduce s d r : alike V Z s -> d < D -> r < k ->
  (H (do_step ns k (Step V Z AllReduce) s) d r <-> H s d r).
Proof.
  intros Hal Hd Hr. destruct (zero_dec ns Z d) as [z|z].
  - rewrite <- (union_holds_alike s d r), H_spec by auto.
    split; intros [c [Hc E]]; exists c; split; auto; apply do_allreduce; auto.
  - rewrite !H_spec. split; intros [c [Hc E]]; exists c; split; auto;
      [rewrite <- step_untouched with (c := AllReduce)|rewrite step_untouched]; auto.
Qed.

Lemma holds_allgather s d r : d < D -> zero Z d ->
  (H (do_step ns k (Step V Z AllGather) s) d r <-> exists x, x < D /\ same V d x /\ H s x r).
Proof.
  intros Hd Hz. rewrite <- union_holds, H_spec.
  split; intros [c [Hc E]]; exists c; split; auto; apply do_allgather; auto.
Qed.

Lemma holds_reduce s d r : alike V Z s -> d < D -> zero Z d -> r < k ->
  (H (do_step ns k (Step V Z Reduce) s) d r <-> H s d r /\ zero V d).
Proof.
  intros Hal Hd Hz Hr. rewrite <- (union_holds_alike s d r), H_spec by auto. split.
  - intros [c [Hc E]]. apply do_reduce in E; auto. destruct E. eauto.
  - intros [[c [Hc E]] K]. exists c. split; auto. apply do_reduce; auto.
Qed.

Lemma holds_reducescatter s d r : alike V Z s -> d < D -> zero Z d -> r < k ->
  (H (do_step ns k (Step V Z ReduceScatter) s) d r <-> H s d r /\ kept s d r).
Proof.
  intros Hal Hd Hz Hr. rewrite <- (union_holds_alike s d r), H_spec by auto. split.
  - intros [c [Hc E]]. apply do_reducescatter in E; auto. destruct E. eauto.
  - intros [[c [Hc E]] K]. exists c. split; auto. apply do_reducescatter; auto.
Qed.

Lemma holds_broadcast s d r : d < D -> zero Z d ->
  (H (do_step ns k (Step V Z Broadcast) s) d r <-> H s (mix V 0 d) r).
Proof.
  intros Hd Hz. rewrite !H_spec. split; intros [c [Hc E]]; exists c; split; auto;
    [rewrite <- do_broadcast|rewrite do_broadcast]; auto.
Qed.

End Step.

(* ---- runs of a group whose devices hold the same chunks ---- *)
Section Runs.
Variable V : N.
Variable s : state.
Hypothesis Hal : forall d d' r, d < D -> d' < D -> same V d d' -> r < k -> H s d r -> H s d' r.

Lemma count_alike d d' r : (forall q, q < k -> (H s d q <-> H s d' q)) -> r <= k ->
  count r (hold D s d) = count r (hold D s d').
Proof.
  intros E Hr. apply count_ext. intros i Hi. apply eq_true_iff_eq. apply (E i). lia.
Qed.

Lemma root_holds d q : d < D -> q < k -> (H s (mix V 0 d) q <-> H s d q).
Proof.
  intros Hd Hq. pose proof (D_pos ns positive) as D0. assert (M : mix V 0 d < D) by (apply mix_lt; auto).
  split; intros Hh; [apply (Hal (mix V 0 d) d)|apply (Hal d (mix V 0 d))];
    auto using same_sym, same_mix.
Qed.

Lemma kept_iff d r : d < D -> r < k ->
  (kept V s d r <->
   in_run (length (members ns V d)) (count k (hold D s d)) (place V d) (count r (hold D s d))).
Proof.
  intros Hd Hr. unfold kept.
  rewrite (count_alike (mix V 0 d) d k), (count_alike (mix V 0 d) d r); auto; try reflexivity; try lia;
    intros; apply root_holds; auto.
Qed.

Lemma place_lt d : d < D -> place V d < length (members ns V d).
Proof. intros Hd. apply position_lt, in_members; auto using same_refl. Qed.

Lemma kept_same d d' r : d < D -> d' < D -> r < k -> (forall q, q < k -> (H s d q <-> H s d' q)) ->
  (forall e, has V e = true -> dig ns e d = dig ns e d') -> kept V s d r -> kept V s d' r.
Proof.
  intros Hd Hd' Hr E Ev. rewrite !kept_iff by auto.
  rewrite (members_length ns positive V d d'), (count_alike d d' k), (count_alike d d' r) by (auto; lia).
  replace (place V d) with (place V d'); auto. symmetry. apply position_inside; auto using same_refl.
Qed.

Lemma kept_apart d d' r : d < D -> d' < D -> r < k -> (forall q, q < k -> (H s d q <-> H s d' q)) ->
  kept V s d r -> kept V s d' r -> forall e, has V e = true -> dig ns e d = dig ns e d'.
Proof.
  intros Hd Hd' Hr E K K'. rewrite kept_iff in K, K' by auto.
  rewrite (members_length ns positive V d d'), (count_alike d d' k), (count_alike d d' r) in K by (auto; lia).
  pose proof (run_apart _ _ _ _ _ K K') as P.
  assert (M : mix V d' d < D) by (apply mix_lt; auto).
  assert (F : mix V d' d = d).
  { apply (position_inj _ _ (members ns V d)).
    - apply in_members. auto using same_mix.
    - apply in_members. auto using same_refl.
    - unfold place in P. rewrite P. apply position_inside; auto using same_mix, same_refl.
      intros e He. rewrite dig_mix, He by auto. auto. }
  intros e He. rewrite <- F, dig_mix, He by auto. auto.
Qed.

Lemma kept_exists d : d < D -> count k (hold D s (mix V 0 d)) mod length (members ns V d) = 0 ->
  (exists r, r < k /\ H s d r) -> exists r, r < k /\ H s d r /\ kept V s d r.
Proof.
  intros Hd Hdiv [q [Hq Hh]]. 
  rewrite (count_alike (mix V 0 d) d k) in Hdiv; auto; [|intros; apply root_holds; auto].
  assert (T : 0 < count k (hold D s d)).
  { destruct (Nat.eq_dec (count k (hold D s d)) 0) as [E|]; [|lia].
    rewrite count_zero in E. unfold H in Hh. rewrite (E q Hq) in Hh. discriminate. }
  pose proof (members_length_pos ns V d Hd) as Hn.
  destruct (run_not_empty _ _ (place V d) T Hn Hdiv (place_lt d Hd)) as [x [Hx Hrun]].
  destruct (count_reaches k (hold D s d) x Hx) as [r [Hr [E C]]].
  exists r. split; [|split]; auto. apply kept_iff; auto. rewrite C. auto.
Qed.

Lemma kept_root d : d < D -> 0 < k -> zero V d -> H s d 0 -> kept V s d 0.
Proof.
  intros Hd Hk Hz Hh. apply kept_iff; auto.
  assert (place V d = 0) as -> by (apply position_root; auto using same_refl).
  apply run_first. destruct (Nat.eq_dec (count k (hold D s d)) 0) as [E|]; [|lia].
  rewrite count_zero in E. unfold H in Hh. rewrite (E 0) in Hh; [discriminate|auto].
Qed.

Lemma kept_cover d r : d < D -> r < k -> H s d r -> exists x, x < D /\ same V d x /\ kept V s x r.
Proof.
  intros Hd Hr Hh. pose proof (members_length_pos ns V d Hd) as Hn.
  destruct (run_cover (length (members ns V d)) (count k (hold D s d)) (count r (hold D s d)))
    as [i [Hi Hrun]]; auto.
  - apply count_lt; auto.
  - exists (nth i (members ns V d) 0).
    assert (M : In (nth i (members ns V d) 0) (members ns V d)) by (apply nth_In; auto).
    pose proof M as M'. apply in_members in M'. destruct M' as [Hx Hs]. split; [|split]; auto.
    apply kept_iff; auto. unfold place. rewrite <- (members_eq ns V d) by auto.
    rewrite position_nth by (auto using NoDup_members).
    rewrite (count_alike _ d k), (count_alike _ d r); auto; try lia;
      intros q Hq; split; apply Hal; auto using same_sym.
Qed.

End Runs.

Lemma goal_spec red s :
  goal ns k red s = true <->
  forall d r c, d < D -> r < k -> c < D -> (s d r c = true <-> same red d c).
Proof.
  unfold goal. rewrite all_spec. split.
  - intros G d r c Hd Hr Hc. specialize (G d Hd). rewrite all_spec in G. specialize (G r Hr).
    rewrite all_spec in G. specialize (G c Hc). apply eqb_prop in G. rewrite G. apply sameb_spec.
  - intros G d Hd. apply all_spec. intros r Hr. apply all_spec. intros c Hc.
    specialize (G d r c Hd Hr Hc). rewrite <- sameb_spec in G.
    destruct (s d r c), (sameb ns red d c); auto; destruct G as [G1 G2];
      [discriminate G1|discriminate G2]; auto.
Qed.

End Steps.
