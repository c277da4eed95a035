(* JSON as docs/certificates.md allows it: objects with distinct keys, lists, texts and numbers without
   sign, fraction or exponent. *)
type t = Number of int | Text of string | List of t list | Object of (string * t) list

exception Malformed of string

let parse text =
  let length = String.length text in
  let at = ref 0 in
  let fail expected = raise (Malformed (Printf.sprintf "byte %d: expected %s" !at expected)) in
  let rec skip () =
    if !at < length && String.contains " \t\r\n" text.[!at] then (incr at; skip ()) in
  let peek () = skip (); if !at < length then text.[!at] else '\000' in
  let expect c = if peek () = c then incr at else fail (Printf.sprintf "'%c'" c) in
  let text_value () =
    expect '"';
    let buffer = Buffer.create 16 in
    let rec go () =
      if !at >= length then fail "a closing quote";
      match text.[!at] with
      | '"' -> incr at
      | '\\' ->
          if !at + 1 >= length then fail "an escape";
          (match text.[!at + 1] with
           | '"' | '\\' | '/' -> Buffer.add_char buffer text.[!at + 1]
           | 'n' -> Buffer.add_char buffer '\n'
           | 't' -> Buffer.add_char buffer '\t'
           | 'r' -> Buffer.add_char buffer '\r'
           | 'b' | 'f' -> Buffer.add_char buffer ' '
           | 'u' -> Buffer.add_char buffer '?'; at := !at + 4
           | _ -> fail "an escape");
          at := !at + 2;
          go ()
      | c -> Buffer.add_char buffer c; incr at; go ()
    in
    go ();
    Buffer.contents buffer
  in
  let number () =
    let first = !at in
    while !at < length && text.[!at] >= '0' && text.[!at] <= '9' do incr at done;
    if !at = first || !at - first > 15 then fail "a number";
    int_of_string (String.sub text first (!at - first))
  in
  let rec value depth =
    if depth > 12 then fail "less nesting";
    match peek () with
    | '{' ->
        incr at;
        let rec members found =
          let key = text_value () in
          if List.mem_assoc key found then fail "a key that has not been given";
          expect ':';
          let found = (key, value (depth + 1)) :: found in
          match peek () with
          | ',' -> incr at; ignore (peek ()); members found
          | _ -> expect '}'; List.rev found
        in
        if peek () = '}' then (incr at; Object []) else Object (members [])
    | '[' ->
        incr at;
        let rec elements found =
          let found = value (depth + 1) :: found in
          match peek () with
          | ',' -> incr at; elements found
          | _ -> expect ']'; List.rev found
        in
        if peek () = ']' then (incr at; List []) else List (elements [])
    | '"' -> Text (text_value ())
    | 't' when !at + 4 <= length && String.sub text !at 4 = "true" -> at := !at + 4; Number 1
    | 'f' when !at + 5 <= length && String.sub text !at 5 = "false" -> at := !at + 5; Number 0
    | _ -> Number (number ())
  in
  let result = value 0 in
  skip ();
  if !at < length then fail "the end";
  result

let member key = function
  | Object members -> (match List.assoc_opt key members with
                       | Some value -> value
                       | None -> raise (Malformed ("no key '" ^ key ^ "'")))
  | _ -> raise (Malformed ("no object with key '" ^ key ^ "'"))
let has key = function Object members -> List.mem_assoc key members | _ -> false
let number = function Number n -> n | _ -> raise (Malformed "expected a number")
let text = function Text s -> s | _ -> raise (Malformed "expected a text")
let list = function List l -> l | _ -> raise (Malformed "expected a list")
let numbers value = List.map number (list value)
