-- PURPOSE    Look at one file later; one that has no record is not looked at again.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       file id, when to look again
-- RETURNS    1, or 0 when there is no record
-- INVARIANT  files:due has files of files only.
-- BOUND      Constant.
-- @include room
local P, id = KEYS[1], ARGV[1]
local due = P .. 'files:due'
goes_on(P)
if redis.call('HEXISTS', P .. 'files', id) == 0 then
  redis.call('ZREM', due, id)
  return 0
end
redis.call('ZADD', due, ARGV[2], id)
return 1
