(* A checker of programs over groups of ids that is fast enough to be extracted: rows are bit masks.
   It is proved to decide the rules of rules.v. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics adequacy digits runs.
Import ListNotations.

(* Of a device: for every chunk the mask of the contributors in it. Chunks that are missing are empty. *)
Definition chunks_of := list N.
Definition chunk (l : chunks_of) (r : nat) : N := nth r l 0%N.
Definition table := list chunks_of.
Definition device (t : table) (d : nat) : chunks_of := nth d t [].

Definition nonzero (x : N) : bool := negb (N.eqb x 0).

Fixpoint join (a b : chunks_of) : chunks_of :=
  match a, b with
  | [], _ => b
  | _, [] => a
  | x :: a', y :: b' => N.lor x y :: join a' b'
  end.
Definition join_all (ls : list chunks_of) : chunks_of := fold_right join [] ls.

Fixpoint both (f : N -> N -> bool) (a b : chunks_of) : bool :=
  match a with
  | [] => forallb (f 0%N) b
  | x :: a' => match b with
               | [] => f x 0%N && forallb (fun y => f y 0%N) a'
               | y :: b' => f x y && both f a' b'
               end
  end.
Fixpoint pairwise (f : chunks_of -> chunks_of -> bool) (ls : list chunks_of) : bool :=
  match ls with [] => true | l :: ls' => forallb (f l) ls' && pairwise f ls' end.

Definition alike_b : chunks_of -> chunks_of -> bool := both (fun x y => Bool.eqb (nonzero x) (nonzero y)).
Definition disjoint_b : chunks_of -> chunks_of -> bool := both (fun x y => N.eqb (N.land x y) 0).
Definition apart_b : chunks_of -> chunks_of -> bool := both (fun x y => negb (nonzero x && nonzero y)).
Definition within_b : chunks_of -> chunks_of -> bool := both (fun x y => N.eqb (N.ldiff x y) 0).
Definition holdings (l : chunks_of) : nat := length (filter nonzero l).

(* The rules of the premises, in the order of the texts; the first one that is broken. *)
Inductive premise := SameChunks | Disjoint | Divisible | DisjointChunks | EqualCount | Contained | Informative.
Definition premise_holds (c : premise) (ls : list chunks_of) : bool :=
  let root := hd [] ls in
  match c with
  | SameChunks => forallb (alike_b root) ls
  | Disjoint => pairwise disjoint_b ls
  | Divisible => holdings root mod length ls =? 0
  | DisjointChunks => pairwise apart_b ls
  | EqualCount => forallb (fun l => holdings l =? holdings root) ls
  | Contained => forallb (fun l => within_b l root) ls
  | Informative => existsb (fun l => negb (within_b root l)) ls
  end.
Definition premises_of (c : collective) : list premise :=
  match c with
  | AllReduce | Reduce => [SameChunks; Disjoint]
  | ReduceScatter => [SameChunks; Disjoint; Divisible]
  | AllGather => [DisjointChunks; EqualCount]
  | Broadcast => [Contained; Informative]
  end.
Definition first_broken (c : collective) (ls : list chunks_of) : option premise :=
  find (fun q => negb (premise_holds q ls)) (premises_of c).
Definition legal_b (c : collective) (ls : list chunks_of) : bool :=
  forallb (fun q => premise_holds q ls) (premises_of c).

(* The i-th of n runs of the t chunks held; `before` are held already. *)
Fixpoint pick (n t i before : nat) (l : chunks_of) : chunks_of :=
  match l with
  | [] => []
  | x :: l' => (if in_runb n t i before then x else 0%N) ::
               pick n t i (if nonzero x then S before else before) l'
  end.

Definition group_effect (c : collective) (ls : list chunks_of) : list chunks_of :=
  match c with
  | AllReduce | AllGather => let u := join_all ls in map (fun _ => u) ls
  | Reduce => match ls with [] => [] | _ :: ls' => join_all ls :: map (fun _ => []) ls' end
  | Broadcast => map (fun _ => hd [] ls) ls
  | ReduceScatter =>
      let u := join_all ls in let n := length ls in let t := holdings u in
      map (fun i => pick n t i 0 u) (seq 0 n)
  end.

Definition members_of (t : table) (g : list nat) : list chunks_of := map (device t) g.
Definition legal_step_b (c : collective) (gs : list (list nat)) (t : table) : bool :=
  forallb (fun g => legal_b c (members_of t g)) gs.
Definition table_after (c : collective) (gs : list (list nat)) (m : nat) (t : table) : table :=
  let effects := map (fun g => (g, group_effect c (members_of t g))) gs in
  map (fun d => match find (fun ge => is_member d (fst ge)) effects with
                | Some (g, e) => nth (position d g) e []
                | None => device t d
                end) (seq 0 m).

Definition initial_table (k m : nat) : table := map (fun d => repeat (N.setbit 0 (N.of_nat d)) k) (seq 0 m).

Fixpoint legal_table (p : id_program) (m : nat) (t : table) : bool :=
  match p with
  | [] => true
  | (c, gs) :: p' => legal_step_b c gs t && legal_table p' m (table_after c gs m t)
  end.
Fixpoint run_table (p : id_program) (m : nat) (t : table) : table :=
  match p with [] => t | (c, gs) :: p' => run_table p' m (table_after c gs m t) end.

(* Groups are lists of devices below m, none empty, without repetition. *)
Fixpoint distinct (g : list nat) : bool :=
  match g with [] => true | d :: g' => negb (is_member d g') && distinct g' end.
Definition group_ok (m : nat) (g : list nat) : bool :=
  negb (length g =? 0) && forallb (fun d => d <? m) g && distinct g.
Definition groups_ok (m : nat) (p : id_program) : bool :=
  forallb (fun cg => forallb (group_ok m) (snd cg)) p.

Definition class_mask (classes : list (list nat)) (d : nat) : N :=
  match find (is_member d) classes with Some c => mask_of c | None => 0%N end.
Definition goal_b (k m : nat) (classes : list (list nat)) (t : table) : bool :=
  forallb (fun d => let c := class_mask classes d in forallb (fun r => N.eqb (chunk (device t d) r) c) (seq 0 k)) (seq 0 m).

Definition check_program (k m : nat) (classes : list (list nat)) (p : id_program) : bool :=
  groups_ok m p && legal_table p m (initial_table k m) && goal_b k m classes (run_table p m (initial_table k m)).

(* ---- it decides the rules ---- *)

Lemma chunk_nil r : chunk [] r = 0%N.
Proof. unfold chunk. destruct r; auto. Qed.

Lemma chunk_join a b r : chunk (join a b) r = N.lor (chunk a r) (chunk b r).
Proof.
  unfold chunk. revert b r. induction a as [|x a IH]; intros [|y b] [|r]; simpl; auto; try apply IH.
  - rewrite N.lor_0_r. auto.
  - rewrite N.lor_0_r. auto.
Qed.

Lemma has_join_all ls r c : has (chunk (join_all ls) r) c = true <-> exists l, In l ls /\ has (chunk l r) c = true.
Proof.
  induction ls as [|l ls IH]; cbn [join_all fold_right].
  - rewrite chunk_nil, has_zero. split; [discriminate|]. intros [l [[] _]].
  - fold (join_all ls). rewrite chunk_join, has_or, orb_true_iff, IH. split.
    + intros [E|[l' [Hi E]]]; [exists l; split; [left|]|exists l'; split; [right|]]; auto.
    + intros [l' [[->|Hi] E]]; [left|right; exists l']; auto.
Qed.

Lemma forallb_chunk (f : N -> bool) l : f 0%N = true -> (forallb f l = true <-> forall r, f (chunk l r) = true).
Proof.
  intros F. unfold chunk. rewrite forallb_forall. split.
  - intros G r. destruct (Nat.lt_ge_cases r (length l)).
    + apply G, nth_In; auto.
    + rewrite nth_overflow; auto.
  - intros G x Hx. apply (In_nth _ _ 0%N) in Hx. destruct Hx as [r [_ <-]]. auto.
Qed.

Lemma both_spec f a b : f 0%N 0%N = true ->
  (both f a b = true <-> forall r, f (chunk a r) (chunk b r) = true).
Proof.
  intros F. revert b. induction a as [|x a IH]; intros b; cbn [both].
  - rewrite forallb_chunk by auto. split; intros G r; specialize (G r); rewrite chunk_nil in *; auto.
  - destruct b as [|y b]; rewrite andb_true_iff.
    + rewrite (forallb_chunk (fun y => f y 0%N)) by auto. split.
      * intros [E G] [|r]; [exact E|]. rewrite chunk_nil. apply (G r).
      * intros G. split; [apply (G 0)|]. intros r. specialize (G (S r)). rewrite chunk_nil in G. exact G.
    + rewrite IH. split.
      * intros [E G] [|r]; [exact E|apply (G r)].
      * intros G. split; [apply (G 0)|]. intros r. apply (G (S r)).
Qed.

Lemma nonzero_iff x : nonzero x = true <-> exists c, has x c = true.
Proof.
  unfold nonzero. rewrite negb_true_iff, N.eqb_neq. apply nonzero_spec.
Qed.

Section Decides.
Variables k m : nat.

(* The table stands for the state. *)
Record stands_for (t : table) (s : state) : Prop := {
  t_same : forall d r c, d < m -> r < k -> c < m -> has (chunk (device t d) r) c = s d r c;
  t_range : forall d r c, d < m -> has (chunk (device t d) r) c = true -> r < k /\ c < m }.

Lemma nonzero_hold t s d r : stands_for t s -> d < m -> r < k ->
  nonzero (chunk (device t d) r) = hold m s d r.
Proof.
  intros T Hd Hr. apply eq_true_iff_eq. rewrite nonzero_iff, hold_spec. split.
  - intros [c E]. exists c. destruct (t_range _ _ T d r c Hd E). split; auto. rewrite <- (t_same _ _ T); auto.
  - intros [c [Hc E]]. exists c. rewrite (t_same _ _ T); auto.
Qed.

Lemma beyond t s d r : stands_for t s -> d < m -> k <= r -> chunk (device t d) r = 0%N.
Proof.
  intros T Hd Hr. apply zero_spec. intros c. destruct (has (chunk (device t d) r) c) eqn:E; auto.
  destruct (t_range _ _ T d r c Hd E). lia.
Qed.

Lemma holdings_count l j : (forall r, j <= r -> chunk l r = 0%N) ->
  holdings l = count j (fun r => nonzero (chunk l r)).
Proof.
  revert j. unfold holdings, chunk. induction l as [|x l IH]; intros j B.
  - symmetry. apply count_zero. intros r _. destruct r; auto.
  - destruct j.
    + assert (Z : forall r, nth r (x :: l) 0%N = 0%N) by (intros r; apply B; lia).
      assert (filter nonzero (x :: l) = []) as ->; auto.
      assert (Q : forall y, In y (x :: l) -> y = 0%N).
      { intros y Hy. apply (In_nth _ _ 0%N) in Hy. destruct Hy as [r [_ <-]]. apply Z. }
      clear - Q. induction (x :: l) as [|y l' IH']; simpl; auto. rewrite (Q y) by (left; auto). simpl.
      apply IH'. intros; apply Q; right; auto.
    + rewrite count_first. simpl. rewrite <- (IH j).
      * destruct (nonzero x); auto.
      * intros r Hr. apply (B (S r)). lia.
Qed.

Section Group.
Variables (t : table) (s : state) (g : list nat).
Hypothesis T : stands_for t s.
Hypothesis Hg : forall d, In d g -> d < m.
Hypothesis Hne : g <> [].
Hypothesis Hn : NoDup g.
Let ls := members_of t g.

Lemma hd_members_of : hd [] ls = device t (hd 0 g).
Proof. unfold ls, members_of. destruct g; [congruence|auto]. Qed.

Lemma forallb_members f : forallb f ls = true <-> forall d, In d g -> f (device t d) = true.
Proof.
  unfold ls, members_of. rewrite forallb_forall. split.
  - intros G d Hd. apply G, in_map. auto.
  - intros G l Hl. apply in_map_iff in Hl. destruct Hl as [d [<- Hd]]. auto.
Qed.

Lemma alike_b_spec d d' : d < m -> d' < m ->
  (alike_b (device t d) (device t d') = true <-> forall r, r < k -> hold m s d r = hold m s d' r).
Proof.
  intros Hd Hd'. unfold alike_b. rewrite both_spec by auto. split.
  - intros G r Hr. specialize (G r). apply eqb_prop in G. rewrite <- !(nonzero_hold t s) by auto. auto.
  - intros G r. destruct (Nat.lt_ge_cases r k).
    + rewrite !(nonzero_hold t s), G by auto. apply eqb_reflx.
    + rewrite !(beyond t s) by auto. auto.
Qed.

Lemma pairwise_spec f (P : nat -> nat -> Prop) : (forall d d', P d d' -> P d' d) ->
  (forall d d', In d g -> In d' g -> (f (device t d) (device t d') = true <-> P d d')) ->
  (pairwise f ls = true <-> forall d d', In d g -> In d' g -> d <> d' -> P d d').
Proof.
  intros Sy Hf. unfold ls, members_of. clear ls Hne Hg. induction g as [|a l IH]; simpl.
  - split; [intros _ d d' []|auto].
  - inversion Hn; subst. rewrite andb_true_iff, IH; auto; [|intros; apply Hf; right; auto].
    rewrite forallb_forall. split.
    + intros [G1 G2] d d' [->|Hd] [->|Hd'] Ne; auto.
      * congruence.
      * apply Hf; [left; auto|right; auto|]. apply G1, in_map. auto.
      * apply Sy. apply Hf; [left; auto|right; auto|]. apply G1, in_map. auto.
    + intros G. split.
      * intros x Hx. apply in_map_iff in Hx. destruct Hx as [d [<- Hd]].
        apply Hf; [left; auto|right; auto|]. apply G; [left; auto|right; auto|]. intros ->. tauto.
      * intros d d' Hd Hd' Ne. apply G; [right; auto|right; auto|auto].
Qed.

Lemma hd_in : In (hd 0 g) g.
Proof. apply In_hd, Hne. Qed.

Lemma same_chunks_b : premise_holds SameChunks ls = true <-> same_chunks k m s g.
Proof.
  unfold premise_holds. rewrite hd_members_of, forallb_members. pose proof hd_in as Hh. unfold same_chunks. split.
  - intros G d d' r Hd Hd' Hr.
    rewrite <- (proj1 (alike_b_spec (hd 0 g) d (Hg _ Hh) (Hg _ Hd)) (G d Hd) r Hr).
    apply (proj1 (alike_b_spec (hd 0 g) d' (Hg _ Hh) (Hg _ Hd')) (G d' Hd') r Hr).
  - intros G d Hd. apply alike_b_spec; auto.
Qed.

Lemma land_zero x y : N.eqb (N.land x y) 0 = true <-> forall c, has x c = true -> has y c = true -> False.
Proof.
  rewrite N.eqb_eq, zero_spec. split.
  - intros G c E E'. specialize (G c). rewrite has_and, E, E' in G. discriminate.
  - intros G c. rewrite has_and. destruct (has x c) eqn:E, (has y c) eqn:E'; auto. destruct (G c E E').
Qed.

Lemma disjoint_spec_b : premise_holds Disjoint ls = true <-> disjoint k m s g.
Proof.
  unfold premise_holds. rewrite (pairwise_spec disjoint_b (fun d d' => forall r c, r < k -> c < m ->
     s d r c = true -> s d' r c = true -> False)).
  - unfold disjoint. split; intros G; intros; eauto.
  - intros d d' G r c Hr Hc E E'. eauto.
  - intros d d' Hd Hd'. unfold disjoint_b. rewrite both_spec by auto. split.
    + intros G r c Hr Hc E E'. specialize (G r). rewrite land_zero in G. apply (G c);
        rewrite (t_same _ _ T); auto.
    + intros G r. apply land_zero. intros c E E'. destruct (t_range _ _ T d r c (Hg _ Hd) E).
      apply (G r c); auto; rewrite <- (t_same _ _ T); auto.
Qed.

Lemma apart_spec_b : premise_holds DisjointChunks ls = true <-> disjoint_chunks k m s g.
Proof.
  unfold premise_holds. rewrite (pairwise_spec apart_b (fun d d' => forall r, r < k ->
     hold m s d r = true -> hold m s d' r = true -> False)).
  - unfold disjoint_chunks. split; intros G; intros; eauto.
  - intros d d' G r Hr E E'. eauto.
  - intros d d' Hd Hd'. unfold apart_b. rewrite both_spec by auto. split.
    + intros G r Hr E E'. specialize (G r). rewrite !(nonzero_hold t s), E, E' in G by auto. discriminate.
    + intros G r. destruct (Nat.lt_ge_cases r k).
      * rewrite !(nonzero_hold t s) by auto. destruct (hold m s d r) eqn:E, (hold m s d' r) eqn:E'; auto.
        destruct (G r H E E').
      * rewrite (beyond t s d) by auto. auto.
Qed.

Lemma holdings_hold d : d < m -> holdings (device t d) = count k (hold m s d).
Proof.
  intros Hd. rewrite (holdings_count _ k) by (intros; apply (beyond t s); auto).
  apply count_ext. intros r Hr. apply nonzero_hold; auto.
Qed.

Lemma within_spec_b d d' : d < m -> d' < m -> (within_b (device t d) (device t d') = true <->
  forall r c, r < k -> c < m -> s d r c = true -> s d' r c = true).
Proof.
  intros Hd Hd'. unfold within_b. rewrite both_spec by auto. split.
  - intros G r c Hr Hc E. specialize (G r). apply subset_spec with (e := c) in G.
    + rewrite <- (t_same _ _ T); auto.
    + rewrite (t_same _ _ T); auto.
  - intros G r. apply subset_spec. intros c E. destruct (t_range _ _ T d r c Hd E).
    rewrite (t_same _ _ T); auto. apply G; auto. rewrite <- (t_same _ _ T); auto.
Qed.

Lemma within_false d d' : d < m -> d' < m -> (within_b (device t d) (device t d') = false <->
  exists r c, r < k /\ c < m /\ s d r c = true /\ s d' r c = false).
Proof.
  intros Hd Hd'. split.
  - intros E. destruct (some k (fun r => some m (fun c => s d r c && negb (s d' r c)))) eqn:F.
    + apply some_spec in F. destruct F as [r [Hr F]]. apply some_spec in F. destruct F as [c [Hc F]].
      apply andb_true_iff in F. destruct F as [F1 F2]. apply negb_true_iff in F2. exists r, c. auto.
    + exfalso. assert (within_b (device t d) (device t d') = true); [|congruence].
      apply within_spec_b; auto. intros r c Hr Hc G. rewrite some_false in F. specialize (F r Hr). cbv beta in F.
      rewrite some_false in F. specialize (F c Hc). cbv beta in F. rewrite G in F. apply negb_false_iff in F. auto.
  - intros [r [c [Hr [Hc [E E']]]]]. destruct (within_b _ _) eqn:F; auto.
    rewrite (proj1 (within_spec_b d d' Hd Hd') F r c Hr Hc E) in E'. discriminate.
Qed.

Lemma legal_b_spec c : legal_b c ls = true <-> legal c (length g) k m (view s g) = true.
Proof.
  assert (L : length ls = length g) by apply map_length.
  unfold legal_b. destruct c; cbn [premises_of forallb]; rewrite ?andb_true_r, ?andb_true_iff.
  - rewrite allreduce_legal, same_chunks_b, disjoint_spec_b by auto. tauto.
  - rewrite reducescatter_legal, same_chunks_b, disjoint_spec_b by auto.
    unfold premise_holds. rewrite hd_members_of, L, Nat.eqb_eq, holdings_hold by (apply Hg, hd_in). tauto.
  - rewrite allgather_legal, apart_spec_b by auto. apply and_iff; [tauto|].
    unfold premise_holds. rewrite hd_members_of, forallb_members. unfold equal_count. pose proof hd_in as Hh. split.
    + intros G d d' Hd Hd'. pose proof (G d Hd) as G1. pose proof (G d' Hd') as G2.
      rewrite Nat.eqb_eq, !holdings_hold in G1, G2 by auto. congruence.
    + intros G d Hd. rewrite Nat.eqb_eq, !holdings_hold by auto. auto.
  - rewrite reduce_legal, same_chunks_b, disjoint_spec_b by auto. tauto.
  - rewrite broadcast_legal. pose proof hd_in as Hh. apply and_iff.
    + unfold premise_holds. rewrite hd_members_of, forallb_members. unfold contained. split.
      * intros G d r c Hd Hr Hc. apply (proj1 (within_spec_b d (hd 0 g) (Hg _ Hd) (Hg _ Hh)) (G d Hd)); auto.
      * intros G d Hd. apply within_spec_b; auto. intros r c. apply G. auto.
    + unfold premise_holds. rewrite hd_members_of, existsb_exists. unfold informative. split.
      * intros [l [Hl E]]. unfold ls, members_of in Hl. apply in_map_iff in Hl. destruct Hl as [d [<- Hd]].
        apply negb_true_iff, within_false in E; auto. destruct E as [r [c E]]. exists d, r, c. tauto.
      * intros [d [r [c [Hd E]]]]. exists (device t d). split; [apply in_map; auto|].
        apply negb_true_iff, within_false; auto. exists r, c. tauto.
Qed.

(* ---- effects ---- *)

Lemma join_all_spec r c : r < k -> c < m -> (has (chunk (join_all ls) r) c = true <-> exists d, In d g /\ s d r c = true).
Proof.
  intros Hr Hc. rewrite has_join_all. unfold ls, members_of. split.
  - intros [l [Hl E]]. apply in_map_iff in Hl. destruct Hl as [d [<- Hd]]. exists d. split; auto.
    rewrite <- (t_same _ _ T); auto.
  - intros [d [Hd E]]. exists (device t d). split; [apply in_map; auto|]. rewrite (t_same _ _ T); auto.
Qed.

Lemma join_all_range r c : has (chunk (join_all ls) r) c = true -> r < k /\ c < m.
Proof.
  rewrite has_join_all. unfold ls, members_of. intros [l [Hl E]]. apply in_map_iff in Hl.
  destruct Hl as [d [<- Hd]]. apply (t_range _ _ T d); auto.
Qed.

Lemma chunk_pick n u i before l r : chunk (pick n u i before l) r =
  if in_runb n u i (before + count r (fun q => nonzero (chunk l q))) then chunk l r else 0%N.
Proof.
  revert before r. induction l as [|x l IH]; intros before r; cbn [pick].
  - rewrite chunk_nil. destruct (in_runb _ _ _ _); auto.
  - destruct r as [|r].
    + unfold chunk at 1. simpl. rewrite Nat.add_0_r. auto.
    + change (chunk ((if in_runb n u i before then x else 0%N) :: pick n u i (if nonzero x then S before else before) l) (S r))
        with (chunk (pick n u i (if nonzero x then S before else before) l) r).
      rewrite IH. change (chunk (x :: l) (S r)) with (chunk l r).
      rewrite count_first. change (chunk (x :: l) 0) with x.
      change (fun q => nonzero (chunk (x :: l) (S q))) with (fun q => nonzero (chunk l q)).
      replace ((if nonzero x then S before else before) + count r (fun q => nonzero (chunk l q)))
        with (before + (Nat.b2n (nonzero x) + count r (fun q => nonzero (chunk l q)))); auto.
      destruct (nonzero x); simpl; lia.
Qed.

Lemma nth_map_const {A B} (y : B) (l : list A) i z : i < length l -> nth i (map (fun _ => y) l) z = y.
Proof. revert i. induction l; intros [|i] Hi; simpl in *; try lia; auto. apply IHl. lia. Qed.

Lemma effect_spec c d r e : legal c (length g) k m (view s g) = true -> In d g -> r < k -> e < m ->
  has (chunk (nth (position d g) (group_effect c ls) []) r) e =
  after c (length g) k m (view s g) (position d g) r e.
Proof.
  intros Hl Hd Hr He. apply eq_true_iff_eq. pose proof (position_lt d g Hd) as Hp.
  assert (L : length ls = length g) by apply map_length.
  destruct c; unfold group_effect.
  - rewrite nth_map_const by lia. rewrite join_all_spec, allreduce_after by auto. tauto.
  - apply reducescatter_legal in Hl; auto. destruct Hl as [Hs _].
    rewrite (nth_indep _ [] (pick (length ls) (holdings (join_all ls)) 0 0 (join_all ls)))
      by (rewrite map_length, seq_length; lia).
    rewrite (map_nth (fun i => pick (length ls) (holdings (join_all ls)) i 0 (join_all ls))), seq_nth by lia.
    rewrite chunk_pick. simpl.
    assert (N1 : forall q, q < k -> nonzero (chunk (join_all ls) q) = hold m s (hd 0 g) q).
    { intros q Hq. apply eq_true_iff_eq. rewrite nonzero_iff, hold_spec. split.
      - intros [c E]. destruct (join_all_range q c E) as [_ Hc]. apply join_all_spec in E; auto.
        destruct E as [d' [Hd' E]].
        assert (Q : hold m s (hd 0 g) q = true).
        { rewrite (Hs (hd 0 g) d' q hd_in Hd' Hq). apply hold_spec. eauto. }
        apply hold_spec in Q. auto.
      - intros [c [Hc E]]. exists c. apply join_all_spec; auto. exists (hd 0 g). split; auto. apply hd_in. }
    rewrite (holdings_count _ k).
    2:{ intros q Hq. apply zero_spec. intros c. destruct (has _ c) eqn:E; auto.
        apply join_all_range in E. lia. }
    rewrite (count_ext k _ (hold m s (hd 0 g))) by auto.
    rewrite (count_ext r _ (hold m s (hd 0 g))) by (intros; apply N1; lia).
    rewrite reducescatter_after by auto. rewrite L, <- in_runb_spec, <- join_all_spec by auto.
    destruct (in_runb _ _ _ _); rewrite ?has_zero; split; try tauto; try discriminate.
  - rewrite nth_map_const by lia. rewrite join_all_spec, allgather_after by auto. tauto.
  - rewrite reduce_after, <- join_all_spec by auto. destruct ls as [|l0 ls'] eqn:Els; [simpl in L; lia|].
    destruct (position d g) as [|i] eqn:Ep.
    + simpl nth. tauto.
    + simpl nth. rewrite nth_map_const by (simpl in L; lia). rewrite chunk_nil, has_zero. split; [discriminate|].
      intros [_ F]. discriminate.
  - rewrite nth_map_const by lia. rewrite hd_members_of, broadcast_after, (t_same _ _ T); auto; [tauto|].
    apply Hg, hd_in.
Qed.

Lemma effect_range c d r e : In d g ->
  has (chunk (nth (position d g) (group_effect c ls) []) r) e = true -> r < k /\ e < m.
Proof.
  intros Hd. pose proof (position_lt d g Hd) as Hp. assert (L : length ls = length g) by apply map_length.
  destruct c; unfold group_effect.
  - rewrite nth_map_const by lia. apply join_all_range.
  - rewrite (nth_indep _ [] (pick (length ls) (holdings (join_all ls)) 0 0 (join_all ls)))
      by (rewrite map_length, seq_length; lia).
    rewrite (map_nth (fun i => pick (length ls) (holdings (join_all ls)) i 0 (join_all ls))), seq_nth by lia.
    rewrite chunk_pick. destruct (in_runb _ _ _ _); [apply join_all_range|rewrite has_zero; discriminate].
  - rewrite nth_map_const by lia. apply join_all_range.
  - pose proof (join_all_range r e) as JR.
    destruct ls as [|l0 ls'] eqn:Els; [simpl in L; lia|]. destruct (position d g) as [|i] eqn:Ep.
    + cbn [nth]. exact JR.
    + simpl nth. rewrite nth_map_const by (simpl in L; lia). rewrite chunk_nil, has_zero. discriminate.
  - rewrite nth_map_const by lia. rewrite hd_members_of. apply (t_range _ _ T). apply Hg, hd_in.
Qed.

End Group.

Lemma group_ok_spec g : group_ok m g = true -> (forall d, In d g -> d < m) /\ g <> [] /\ NoDup g.
Proof.
  unfold group_ok. rewrite !andb_true_iff, forallb_forall, negb_true_iff, Nat.eqb_neq. intros [[A B] C].
  split; [intros d Hd; apply Nat.ltb_lt, B; auto|split].
  - intros ->. apply A. auto.
  - clear - C. induction g as [|d g IH]; simpl in C; constructor; apply andb_true_iff in C; destruct C as [C1 C2]; auto.
    intros Hi. apply is_member_spec in Hi. rewrite Hi in C1. discriminate.
Qed.

Lemma legal_step_b_spec c gs t s : stands_for t s -> forallb (group_ok m) gs = true ->
  (legal_step_b c gs t = true <-> legal_on c k m gs s = true).
Proof.
  intros T G. rewrite forallb_forall in G. unfold legal_step_b, legal_on. rewrite !forallb_forall.
  split; intros F g Hi; destruct (group_ok_spec g (G g Hi)) as [A [B C]];
    apply (legal_b_spec t s g T A B C); auto.
Qed.

Lemma find_map {A B} (f : A -> B) (h : A -> bool) l :
  find (fun ab => h (fst ab)) (map (fun a => (a, f a)) l) = match find h l with Some a => Some (a, f a) | None => None end.
Proof. induction l as [|a l IH]; simpl; auto. destruct (h a); auto. Qed.

Lemma table_after_stands c gs t s : stands_for t s -> forallb (group_ok m) gs = true ->
  legal_on c k m gs s = true -> stands_for (table_after c gs m t) (after_on c k m gs s).
Proof.
  intros T G Hl. rewrite forallb_forall in G. rewrite legal_on_spec in Hl.
  assert (E : forall d, d < m -> device (table_after c gs m t) d =
    match find (is_member d) gs with
    | Some g => nth (position d g) (group_effect c (members_of t g)) []
    | None => device t d
    end).
  { intros d Hd. unfold device at 1, table_after.
    set (F := fun d => match find (fun ge => is_member d (fst ge)) (map (fun g => (g, group_effect c (members_of t g))) gs) with
       | Some (g, e) => nth (position d g) e [] | None => device t d end).
    rewrite (nth_indep _ [] (F 0)) by (rewrite map_length, seq_length; auto).
    rewrite (map_nth F), seq_nth by auto. unfold F. simpl.
    rewrite (find_map (fun g => group_effect c (members_of t g)) (is_member d)). destruct (find (is_member d) gs); auto. }
  constructor.
  - intros d r e Hd Hr He. rewrite E by auto. unfold after_on. destruct (find (is_member d) gs) as [g|] eqn:F.
    + apply find_some in F. destruct F as [Hi Hm]. apply is_member_spec in Hm.
      destruct (group_ok_spec g (G g Hi)) as [A [B C]]. apply effect_spec; auto.
    + apply (t_same _ _ T); auto.
  - intros d r e Hd. rewrite E by auto. destruct (find (is_member d) gs) as [g|] eqn:F.
    + apply find_some in F. destruct F as [Hi Hm]. apply is_member_spec in Hm.
      destruct (group_ok_spec g (G g Hi)) as [A [B C]]. apply (effect_range t s); auto.
    + apply (t_range _ _ T); auto.
Qed.

Lemma initial_stands : stands_for (initial_table k m) own.
Proof.
  assert (E : forall d, d < m -> device (initial_table k m) d = repeat (N.setbit 0 (N.of_nat d)) k).
  { intros d Hd. unfold device, initial_table. set (F := fun d => repeat (N.setbit 0 (N.of_nat d)) k).
    rewrite (nth_indep _ [] (F 0)) by (rewrite map_length, seq_length; auto). rewrite (map_nth F), seq_nth; auto. }
  assert (Hb : forall d e, has (N.setbit 0 (N.of_nat d)) e = (d =? e)).
  { intros d e. rewrite has_setbit, has_zero, orb_false_r. apply Nat.eqb_sym. }
  constructor.
  - intros d r c Hd Hr Hc. rewrite E by auto. unfold chunk.
    rewrite (nth_indep _ 0%N (N.setbit 0 (N.of_nat d))) by (rewrite repeat_length; auto).
    rewrite nth_repeat. apply Hb.
  - intros d r c Hd. rewrite E by auto. unfold chunk. intros F.
    assert (Hr : r < k).
    { destruct (Nat.lt_ge_cases r k); auto. rewrite nth_overflow, has_zero in F by (rewrite repeat_length; auto). discriminate. }
    split; auto. rewrite (nth_indep _ 0%N (N.setbit 0 (N.of_nat d))) in F by (rewrite repeat_length; auto).
    rewrite nth_repeat, Hb in F. apply Nat.eqb_eq in F. congruence.
Qed.

Lemma run_table_spec p t s : stands_for t s -> groups_ok m p = true ->
  (legal_table p m t = true <-> legal_ids k m p s = true) /\
  (legal_ids k m p s = true -> stands_for (run_table p m t) (run_ids k m p s)).
Proof.
  revert t s. induction p as [|[c gs] p IH]; intros t s T G; simpl in *; [tauto|].
  apply andb_true_iff in G. destruct G as [G1 G2]. rewrite !andb_true_iff, (legal_step_b_spec c gs t s T G1).
  destruct (legal_on c k m gs s) eqn:E.
  - destruct (IH _ _ (table_after_stands c gs t s T G1 E) G2) as [A B]. split; [tauto|]. intros [_ L]. auto.
  - split; [split; intros []; discriminate|]. intros []; discriminate.
Qed.

Definition in_class (classes : list (list nat)) (d c : nat) : bool := has (class_mask classes d) c.

Lemma goal_b_spec classes t s : stands_for t s ->
  (forall d c, d < m -> in_class classes d c = true -> c < m) ->
  (goal_b k m classes t = true <->
   forall d r c, d < m -> r < k -> c < m -> s d r c = in_class classes d c).
Proof.
  intros T R. unfold goal_b. rewrite forallb_forall. split.
  - intros G d r c Hd Hr Hc. specialize (G d). rewrite in_seq in G. specialize (G ltac:(lia)). cbv zeta in G.
    rewrite forallb_forall in G. specialize (G r). rewrite in_seq in G. specialize (G ltac:(lia)).
    apply N.eqb_eq in G. rewrite <- (t_same _ _ T), G by auto. reflexivity.
  - intros G d Hd. apply in_seq in Hd. cbv zeta. rewrite forallb_forall. intros r Hr. apply in_seq in Hr.
    apply N.eqb_eq, has_ext. intros c. apply eq_true_iff_eq. split; intros E.
    + destruct (t_range _ _ T d r c ltac:(lia) E) as [Hr' Hc]. fold (in_class classes d c).
      rewrite <- (G d r c) by lia. rewrite <- (t_same _ _ T); auto. lia.
    + assert (Hc : c < m) by (apply (R d); [lia|exact E]). rewrite (t_same _ _ T) by lia. rewrite G by lia. exact E.
Qed.

(* The checker accepts a program exactly if all its steps are legal and its last state is the goal. *)
Theorem check_program_decides classes p : groups_ok m p = true ->
  (forall d c, d < m -> in_class classes d c = true -> c < m) ->
  (check_program k m classes p = true <->
   legal_ids k m p own = true /\
   forall d r c, d < m -> r < k -> c < m -> run_ids k m p own d r c = in_class classes d c).
Proof.
  intros G R. unfold check_program. rewrite G. cbn [andb]. rewrite andb_true_iff.
  destruct (run_table_spec p _ _ initial_stands G) as [A B]. rewrite A. split.
  - intros [L F]. split; auto. apply (goal_b_spec classes _ _ (B L) R). auto.
  - intros [L F]. split; auto. apply (goal_b_spec classes _ _ (B L) R). auto.
Qed.

(* So a program that it accepts adds up the right numbers. *)
Theorem check_program_sums M (x : nat -> nat -> carrier M) classes p : groups_ok m p = true ->
  (forall d c, d < m -> in_class classes d c = true -> c < m) ->
  (forall d, d < m -> in_class classes d d = true) ->
  check_program k m classes p = true ->
  forall d r, d < m -> r < k ->
    run_values M k m p own (fun d r => x r d) d r = sum_over M m (in_class classes d) (x r).
Proof.
  intros G R Self C. apply check_program_decides in C; auto. destruct C as [L F].
  apply adequacy.adequacy; auto. intros c gs g Hi Hg. unfold groups_ok in G. rewrite forallb_forall in G.
  specialize (G (c, gs) Hi). cbn [snd] in G. rewrite forallb_forall in G. apply (group_ok_spec g (G g Hg)).
Qed.

End Decides.
