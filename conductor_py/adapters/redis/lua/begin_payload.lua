-- PURPOSE    Begin the record of a payload, without holders.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       path, when to look at it
-- RETURNS    1; 0 when there is a record
-- INVARIANT  Each record is in payloads:due, and in payloads:of: of each of its holders.
-- BOUND      Constant.
-- @include room
local P, path = KEYS[1], ARGV[1]
goes_on(P)
if redis.call('HSETNX', P .. 'payload:' .. path, '#', 1) == 0 then
  return 0
end
redis.call('ZADD', P .. 'payloads:due', ARGV[2], path)
return 1
