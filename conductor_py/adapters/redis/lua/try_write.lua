-- PURPOSE    Tell whether this server would take something new now.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       none
-- RETURNS    1; an error where writes are refused: full, its disk is, or it is a replica
-- INVARIANT  Nothing changes: the command would add nothing to a key that is not there, and nothing goes to the file.
-- BOUND      One command.
-- @include room
local P = KEYS[1]
needs_room(P)
return 1
