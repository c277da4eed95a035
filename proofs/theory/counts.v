(* Complete lists over (d) and the lattice with L digits of size above 1, for all sizes: how many. *)
From Coq Require Import List Arith Bool Lia NArith.
From P2Theory Require Import language rules semantics digits shapes runs programs partition pins weights
  machine equivalence sizes.
Import ListNotations.

(* The digits from a below b. *)
Definition interval (a b : nat) : N := N.sub (N.shiftl 1 (N.of_nat b)) (N.shiftl 1 (N.of_nat a)).
Definition every : list collective := [AllReduce; ReduceScatter; AllGather; Reduce; Broadcast].

(* Over (d): Parallel and InsideGroup vary an interval; Master pins all below it. *)
Definition choices_d (l : nat) : list step :=
  flat_map (fun a => flat_map (fun b =>
    map (Step (interval a b) 0) every ++
    if b <? l then [Step (interval a b) (interval b l) AllReduce] else [])
    (seq (S a) (l - a))) (seq 0 l).

(* Over the lattice: any digits, and any others pinned. *)
Definition subsets (l : nat) : list N := map N.of_nat (seq 1 (2 ^ l - 1)).
Definition choices_lattice (l : nat) : list step :=
  flat_map (fun V => map (Step V 0) every ++
    flat_map (fun Z => if apart V Z then [Step V Z AllReduce] else []) (subsets l)) (subsets l).

(* Number of programs of exactly n steps; equal states are counted together. *)
Definition pairs_eqb (x y : list (N * N)) : bool :=
  (length x =? length y) && forallb (fun p => N.eqb (fst (fst p)) (fst (snd p)) && N.eqb (snd (fst p)) (snd (snd p))) (combine x y).
Definition mstate_eqb (x y : mstate) : bool :=
  N.eqb (mS x) (mS y) && N.eqb (mR x) (mR y) && N.eqb (mB x) (mB y) && pairs_eqb (mP x) (mP y).
Fixpoint tally (m : mstate) (c : N) (l : list (mstate * N)) : list (mstate * N) :=
  match l with
  | [] => [(m, c)]
  | (m', c') :: l' => if mstate_eqb m m' then (m', N.add c c') :: l' else (m', c') :: tally m c l'
  end.
Definition number_of (choices : list step) (l n : nat) : nat :=
  length (programs_of choices (interval 0 l) n).
Definition next_layer (choices : list step) (l : list (mstate * N)) : list (mstate * N) :=
  fold_left (fun acc mc => fold_left (fun acc st =>
    match mstep st (fst mc) with Some m' => tally m' (snd mc) acc | None => acc end) choices acc) l [].
Definition accepted (red : N) (l : list (mstate * N)) : N :=
  fold_left (fun a mc => if accepting red (fst mc) then N.add a (snd mc) else a) l 0%N.
Fixpoint layers (choices : list step) (red : N) (n : nat) (l : list (mstate * N)) : N :=
  N.add (accepted red l) match n with 0 => 0%N | S n' => layers choices red n' (next_layer choices l) end.
Definition N_of (choices : list step) (l n : nat) : N := layers choices (interval 0 l) n [(mstart, 1%N)].
