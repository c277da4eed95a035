(* Every numbered theorem rests on nothing but its statement. *)
From P2Theory Require Import adequacy lowering partition pins machine equivalence sizes hierarchies choices
  counterexamples counts levels numbers checker verdicts.

(* T1 *)
Print Assumptions adequate_group.
Print Assumptions adequacy.adequacy.
Print Assumptions valid_computes_sums.
(* T2 *)
Print Assumptions invariant_reached.
(* T3 *)
Print Assumptions within_reduction.
Print Assumptions merged_once.
(* T4 *)
Print Assumptions pins_within_reduction.
(* T5 *)
Print Assumptions pins_merged.
(* T6 *)
Print Assumptions pins_whole.
(* T7 *)
Print Assumptions machine_accepts_valid.
Print Assumptions machine_valid_accepted.
Print Assumptions machine_equivalence.
(* T8 *)
Print Assumptions size_independence.
Print Assumptions class_independence.
Print Assumptions length_bound.
Print Assumptions complete_over.
Print Assumptions list_d_complete.
Print Assumptions counts_of_d.
Print Assumptions longest_of_d.
Print Assumptions count_for_all_levels.
Print Assumptions full_bounded.
Print Assumptions three_steps_for_all_levels.
Print Assumptions four_steps_for_all_levels.
(* Corollaries *)
Print Assumptions d_expresses_a.
Print Assumptions d_expresses_b.
Print Assumptions d_expresses_c.
Print Assumptions b_expresses_a.
Print Assumptions collapsed_expresses_a.
Print Assumptions lattice_expresses_all.
Print Assumptions c_expresses_d.
Print Assumptions c_expresses_a_b.
(* Counterexamples *)
Print Assumptions lemma_b7_case_3_false.
Print Assumptions lemma_b7_case_1_false.
Print Assumptions d_over_a_false_for_two_axes.
Print Assumptions c_over_b_false_for_two_axes.
Print Assumptions d_expresses_lattice_false.
Print Assumptions lemma_b8_false_in_printed.
Print Assumptions lemma_b3_false_for_arbitrary_groups.
(* The verified checker *)
Print Assumptions check_program_decides.
Print Assumptions check_program_sums.
Print Assumptions program_valid_decides.
Print Assumptions program_refuted_sound.
Print Assumptions all_programs_complete.
