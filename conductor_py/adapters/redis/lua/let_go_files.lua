-- PURPOSE    Note that an execution is gone for good, so that its files leave.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       execution, now, the ms before which a note is forgotten
-- RETURNS    1, or 0 when it has no files
-- INVARIANT  What is noted of an execution without files is forgotten: an older version removes files and not the note.
-- BOUND      100 notes.
-- @include room
local P, owner = KEYS[1], ARGV[1]
goes_on(P)
local gone = P .. 'files:gone'
for _, old in ipairs(redis.call('ZRANGEBYSCORE', gone, '-' .. ARGV[3], ARGV[3], 'LIMIT', 0, 100)) do
  redis.call('ZREM', gone, old)
end
if redis.call('HEXISTS', P .. 'files:of', owner) == 0 then
  return 0
end
redis.call('ZADD', gone, ARGV[2], owner)
return 1
