(* The lengths of complete lists, computed. Only here the kernel of coqc runs its virtual machine at
   length, which coqchk does not have. *)
From Coq Require Import List NArith.
From P2Theory Require Import programs sizes counts.
Import ListNotations.

Definition number_of_d (l n : nat) : N := N.of_nat (length (list_d l n)).
Theorem counts_of_d :
  map (fun l => number_of_d l 5) [1;2;3;4;5] = [3; 47; 825; 3967; 11580]%N /\
  map (fun l => number_of_d l 6) [1;2;3;4] = [3; 47; 1362; 15908]%N /\
  map (fun n => number_of_d 3 n) [1;2;3;4;5;6] = [1; 7; 57; 262; 825; 1362]%N.
Proof. vm_compute. auto. Qed.

(* No length is too long to be reached: programs of 2 l steps. *)
Theorem longest_of_d :
  map (fun l => fold_right Nat.max 0 (map (@length step) (list_d l (2 * l)))) [1;2;3] = [2; 4; 6].
Proof. vm_compute. auto. Qed.
