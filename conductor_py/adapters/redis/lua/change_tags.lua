-- PURPOSE    Replace the tags of one definition, if they are still those that the caller saw, and raise the
--            revision of this partition.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       noun (workflow | task), name, tags before, tags after (empty: none), now
-- RETURNS    the new revision, 0 when the tags are others
-- INVARIANT  Two who change the tags of one definition do not undo each other.
-- BOUND      Constant.
-- @include room
-- @include time
-- @include revision
needs_room(KEYS[1])
local key = KEYS[1] .. 'meta:tags:' .. ARGV[1]
if (redis.call('HGET', key, ARGV[2]) or '') ~= ARGV[3] then
  return 0
end
if ARGV[4] == '' then
  redis.call('HDEL', key, ARGV[2])
else
  redis.call('HSET', key, ARGV[2], ARGV[4])
end
return next_revision(KEYS[1], store_now(ARGV[5]))
