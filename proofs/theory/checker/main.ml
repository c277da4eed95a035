(* p2-check-verified: judges the claims program-valid, program-invalid and synthesis-complete with the
   functions of verdicts.v. What is read here, and what an instruction means, is not verified. It replays
   the program itself: derivation.json, clauses, proofs and hashes are not read.

     p2-check-verified CERTIFICATE…     exit 0: accepted, 1: rejected, 2: no certificate, 3: not judged here
     p2-check-verified --list FILE…     output of synth --format json: are the lists the complete ones? *)
open Verified

exception Rejected of string
exception Not_judged of string

let rec nat n = if n = 0 then O else S (nat (n - 1))
let rec int_of_nat = function O -> 0 | S n -> 1 + int_of_nat n
let nats = List.map nat
let ints = List.map int_of_nat

let max_devices = 128

let read path =
  let channel = open_in_bin path in
  let text = really_input_string channel (in_channel_length channel) in
  close_in channel;
  Json.parse text

(* ---- the placed system ---- *)

type system = {
  axes : int;
  sizes : int list;                        (* of the digits, level by level and axis by axis *)
  reduced : int list;                      (* axes *)
  which : string;                          (* synthesis hierarchy *)
  levels : (string * int list) list;       (* its levels below the root: name and digits *)
}

let range n = List.init n (fun i -> i)

let system_of json which =
  let names key = List.map (fun each -> Json.text (Json.member "name" each)) (Json.list (Json.member key json)) in
  let level_names = names "hierarchy" and axis_names = names "axes" in
  let reduced = Json.numbers (Json.member "reduce" json) in
  let placement = List.map Json.numbers (Json.list (Json.member "placement" json)) in
  let axes = List.length axis_names and depth = List.length level_names in
  if List.length placement <> axes || List.exists (fun row -> List.length row <> depth) placement then
    raise (Json.Malformed "placement: expected a row for each axis and a column for each level");
  let sizes = List.concat_map (fun l -> List.map (fun a -> List.nth (List.nth placement a) l) (range axes)) (range depth) in
  if List.exists (fun n -> n < 1) sizes then raise (Json.Malformed "placement: a factor of 0");
  let digit level axis = level * axes + axis in
  let single l a = (List.nth level_names l ^ "." ^ List.nth axis_names a, [digit l a]) in
  let by_rows rows = List.concat_map (fun a -> List.map (fun l -> single l a) (range depth)) rows in
  let by_levels rows = List.map (fun l -> (List.nth level_names l, List.map (digit l) rows)) (range depth) in
  let reduced_rows = List.filter (fun a -> List.mem a reduced) (range axes) in
  let levels = match which with
    | "a" -> by_levels (range axes)
    | "b" -> List.concat_map (fun l -> List.map (single l) (range axes)) (range depth)
    | "c" -> by_rows (range axes)
    | "d" | "lattice" -> by_rows reduced_rows
    | "collapsed" -> by_levels reduced_rows
    | other -> raise (Json.Malformed ("synthesis hierarchy " ^ other))
  in
  { axes; sizes; reduced; which; levels }

let which_of system = match system.which with
  | "a" -> OverA | "b" -> OverB | "c" -> OverC | "d" -> OverD | "collapsed" -> OverCollapsed | _ -> OverLattice

let collective_of = function
  | "AllReduce" -> AllReduce | "ReduceScatter" -> ReduceScatter | "AllGather" -> AllGather
  | "Reduce" -> Reduce | "Broadcast" -> Broadcast
  | other -> raise (Json.Malformed ("collective " ^ other))

(* The digits that an instruction reduces over, and those that it pins. *)
let shape_of system slice form =
  let argument prefix =
    let n = String.length prefix in
    if String.length form > n + 1 && String.sub form 0 (n + 1) = prefix ^ "(" && form.[String.length form - 1] = ')'
    then Some (String.sub form (n + 1) (String.length form - n - 2)) else None in
  let digits_between first last =
    List.concat (List.filteri (fun i _ -> i >= first && i < last) (List.map snd system.levels)) in
  let bad () = raise (Json.Malformed (slice ^ ", " ^ form ^ ": no instruction")) in
  if system.which = "lattice" then begin
    let set text =
      let n = String.length text in
      if n < 3 || text.[0] <> '{' || text.[n - 1] <> '}' then bad ();
      let names = String.split_on_char ',' (String.sub text 1 (n - 2)) in
      let digits = List.concat_map (fun name ->
        match List.assoc_opt (String.trim name) system.levels with Some d -> d | None -> bad ()) names in
      (* each once, in the order of the levels, of size above 1 *)
      let rec ascending = function a :: (b :: _ as rest) -> a < b && ascending rest | _ -> true in
      let order = List.map (fun d ->
        let rec place i = function [] -> bad () | (_, l) :: rest -> if List.mem d l then i else place (i + 1) rest in
        place 0 system.levels) digits in
      if not (ascending order) || List.exists (fun d -> List.nth system.sizes d < 2) digits then bad ();
      digits in
    let reduced = set slice in
    let pinned = if form = "Parallel" then [] else match argument "Master" with Some z -> set z | None -> bad () in
    if List.exists (fun d -> List.mem d reduced) pinned then bad ();
    (reduced, pinned)
  end else begin
    (* the number of levels from the root down to and including this one *)
    let depth name =
      if name = "root" then 0 else
      let rec place i = function [] -> bad () | (n, _) :: rest -> if n = name then i else place (i + 1) rest in
      place 1 system.levels in
    let s = depth slice and all = List.length system.levels in
    if form = "InsideGroup" then (digits_between s all, [])
    else
      let above, pins = match argument "Parallel", argument "Master" with
        | Some a, _ -> depth a, false | None, Some a -> depth a, true | None, None -> bad () in
      if above >= s then bad ();
      (digits_between above s, if pins then digits_between s all else [])
  end

let groups_of system (reduced, pinned) =
  if not (List.exists (fun d -> List.nth system.sizes d > 1) reduced) then
    raise (Json.Malformed "an instruction without groups");
  let step = { vary = mask_of (nats reduced); pin = mask_of (nats pinned); what = AllReduce } in
  List.map ints (step_groups (nats system.sizes) step)

let is_master system (_, pinned) = List.exists (fun d -> List.nth system.sizes d > 1) pinned

(* ---- programs ---- *)

let step_of system published json =
  let does = collective_of (Json.text (Json.member "collective" json)) in
  let groups = List.map Json.numbers (Json.list (Json.member "groups" json)) in
  let rec ascending = function a :: (b :: _ as rest) -> a < b && ascending rest | _ -> true in
  if groups = [] || List.exists (fun g -> g = [] || not (ascending g)) groups then
    raise (Json.Malformed "groups: expected ascending lists");
  let all = List.sort compare (List.concat groups) in
  if not (ascending all) then raise (Json.Malformed "groups: a device stands in two");
  if not (Json.has "slice" json) then
    { instruction = false; refused = false; does; on = List.map nats groups }
  else match system with
    | None -> raise (Json.Malformed "an instruction without an instance")
    | Some system ->
        let shape = shape_of system (Json.text (Json.member "slice" json)) (Json.text (Json.member "form" json)) in
        if List.sort compare groups <> List.sort compare (groups_of system shape) then
          raise (Json.Malformed "groups: not those of the instruction");
        let refused = published && is_master system shape && does <> AllReduce in
        { instruction = true; refused; does; on = List.map nats groups }

let classes_of system devices =
  let agree d e =
    let digits x =
      let rec go x = function [] -> [] | n :: rest ->
        let below = List.fold_left ( * ) 1 rest in (x / below) :: go (x mod below) rest in
      List.filteri (fun i _ -> not (List.mem (i mod system.axes) system.reduced)) (go x system.sizes) in
    digits d = digits e in
  List.sort_uniq compare (List.map (fun d -> List.filter (agree d) (range devices)) (range devices))

let problem_of json =
  let devices = Json.number (Json.member "devices" json) in
  if devices < 1 then raise (Json.Malformed "no devices");
  if devices > max_devices then raise (Not_judged (Printf.sprintf "%d devices, at most %d are judged" devices max_devices));
  let classes = List.map Json.numbers (Json.list (Json.member "classes" json)) in
  if List.sort compare (List.concat classes) <> range devices || List.sort compare classes <> classes
     || List.exists (fun c -> List.sort compare c <> c) classes then
    raise (Json.Malformed "classes: expected a partition of the devices");
  let published = match Json.text (Json.member "dialect" json) with
    | "published" -> true | "printed" -> false | other -> raise (Json.Malformed ("dialect " ^ other)) in
  let system =
    if Json.has "placement" json then
      Some (system_of json (Json.text (Json.member "synthesis_hierarchy" json))) else None in
  (match system with
   | Some s ->
       if List.fold_left ( * ) 1 s.sizes <> devices || classes_of s devices <> classes then
         raise (Json.Malformed "classes: not those of the instance")
   | None -> ());
  (devices, classes, published, system)

let rule_of = function
  | "empty-group" -> EmptyGroup | "master" -> MasterRefused | "goal" -> NotGoal
  | "same-chunks" -> Premise SameChunks | "disjoint" -> Premise Disjoint | "divisible" -> Premise Divisible
  | "disjoint-chunks" -> Premise DisjointChunks | "equal-count" -> Premise EqualCount
  | "contained" -> Premise Contained | "informative" -> Premise Informative
  | other -> raise (Json.Malformed ("rule " ^ other))

(* ---- complete lists ---- *)

let name_of = function
  | AllReduce -> "AllReduce" | ReduceScatter -> "ReduceScatter" | AllGather -> "AllGather"
  | Reduce -> "Reduce" | Broadcast -> "Broadcast"

let machine_list system size =
  let reduces a = List.mem (int_of_nat a) system.reduced in
  let programs = all_programs (which_of system) (nat system.axes) (nats system.sizes) reduces (nat size) in
  List.sort compare
    (List.map (List.map (fun (c, groups) -> (name_of c, List.sort compare (List.map ints groups)))) programs)

let compare_lists system size programs =
  let expected = machine_list system size and given = List.sort compare programs in
  if given <> expected then
    raise (Rejected (Printf.sprintf "%d programs are listed, the machine has %d" (List.length given) (List.length expected)))

let check_completeness problem =
  let _, _, published, system = problem_of problem in
  if not published then raise (Not_judged "lists of dialect printed");
  let system = match system with Some s -> s | None -> raise (Json.Malformed "no instance") in
  let choice json =
    let collective = Json.text (Json.member "collective" json) in
    let shape = shape_of system (Json.text (Json.member "slice" json)) (Json.text (Json.member "form" json)) in
    (collective, List.sort compare (groups_of system shape)) in
  let choices = Array.of_list (List.map choice (Json.list (Json.member "choices" problem))) in
  let program json = List.map (fun n ->
    if n >= Array.length choices then raise (Json.Malformed "programs: no such choice") else choices.(n)) (Json.numbers json) in
  compare_lists system (Json.number (Json.member "size" problem)) (List.map program (Json.list (Json.member "programs" problem)))

(* ---- the commands ---- *)

let check folder =
  let file name = read (Filename.concat folder name) in
  let claim = Json.text (Json.member "claim" (file "manifest.json")) in
  let program () =
    let problem = file "problem.json" in
    let devices, classes, published, system = problem_of problem in
    let steps = List.map (step_of system published) (Json.list (Json.member "steps" problem)) in
    (nat devices, List.map nats classes, steps) in
  match claim with
  | "program-valid" ->
      let devices, classes, steps = program () in
      if not (program_valid devices devices classes steps) then raise (Rejected "the program is not valid")
  | "program-invalid" ->
      let devices, classes, steps = program () in
      let refutation = file "refutation.json" in
      let rule = rule_of (Json.text (Json.member "rule" refutation)) in
      let number = Json.number (Json.member "step" refutation) in
      let group = if Json.has "group" refutation then Json.numbers (Json.member "group" refutation) else [] in
      (* For the goal all steps stand before. *)
      let before = if rule = NotGoal then number else number - 1 in
      if before < 0 || (rule = NotGoal && number <> List.length steps) then raise (Rejected "no such step");
      if rule = NotGoal then begin
        let all = List.length steps in
        if not (program_refuted devices devices classes steps (nat all) rule []) then
          raise (Rejected "the program is not refuted by its last state")
      end else if not (program_refuted devices devices classes steps (nat before) rule (nats group)) then
        raise (Rejected "the group does not break this rule first")
  | "synthesis-complete" -> check_completeness (file "problem.json")
  | other -> raise (Not_judged ("claim " ^ other))

let check_list path =
  let json = read path in
  if Json.text (Json.member "dialect" json) <> "published" then raise (Not_judged "lists of dialect printed");
  let size = Json.number (Json.member "size" json) in
  let which = Json.text (Json.member "synthesis_hierarchy" json) in
  let count = ref 0 in
  List.iter (fun placed ->
    let members = match json, placed with
      | Json.Object all, Json.Object one -> Json.Object (("placement", List.assoc "placement" one) :: all)
      | _ -> raise (Json.Malformed "expected the output of synth --format json") in
    let system = system_of members which in
    let step json =
      (Json.text (Json.member "collective" json),
       List.sort compare (List.map Json.numbers (Json.list (Json.member "groups" json)))) in
    let programs = List.map (fun p -> List.map step (Json.list (Json.member "steps" p))) (Json.list (Json.member "list" placed)) in
    count := !count + List.length programs;
    compare_lists system size programs) (Json.list (Json.member "placements" json));
  Printf.sprintf "%d placements, %d programs" (List.length (Json.list (Json.member "placements" json))) !count

let () =
  let words = List.tl (Array.to_list Sys.argv) in
  if words = [] then (prerr_endline "usage: p2-check-verified CERTIFICATE… | --list FILE…"); 
  let lists, paths = match words with "--list" :: rest -> true, rest | rest -> false, rest in
  let worst = ref (if paths = [] then 2 else 0) in
  let severity = function 2 -> 3 | 1 -> 2 | 3 -> 1 | _ -> 0 in
  List.iter (fun path ->
    let code, text =
      try
        let detail = if lists then ": " ^ check_list path else (check path; "") in
        (0, "accepted" ^ detail)
      with
      | Rejected why -> (1, "rejected: " ^ why)
      | Json.Malformed why -> (2, "not-a-certificate: " ^ why)
      | Sys_error why -> (2, "not-a-certificate: " ^ why)
      | Not_judged why -> (3, "incomplete: " ^ why) in
    print_endline (path ^ ": " ^ text);
    if severity code > severity !worst then worst := code) paths;
  exit !worst
