-- PURPOSE    Carry out one command that adds a little to one key, whether Redis is full or not.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       command, name of the key, argument, …
-- RETURNS    what the command returns
-- INVARIANT  That of the command.
-- BOUND      That of the command.
-- @include room
local P = KEYS[1]
goes_on(P)
return redis.call(ARGV[1], P .. ARGV[2], unpack(ARGV, 3))
