-- PURPOSE    Begin to bring an archived execution back, before its archive is read, or join who does.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, token
-- RETURNS    {OK, token under which to go on} {EXISTS}
-- INVARIANT  An execution that is present is not touched. A token stands for one stay in the archive: none outlasts a
--            time in which the execution was present, so all who read the archive under one put the same.
-- BOUND      Constant; memory is freed in the background.
-- @include room
local P, key = KEYS[1], KEYS[1] .. 'exec:' .. ARGV[1]
needs_room(P)
local found = redis.call('HMGET', key, 'v', 'restoring')
if found[1] then
  return {'EXISTS'}
end
if not found[2] then
  redis.call('UNLINK', key, P .. 'ckpt:' .. ARGV[1])
  redis.call('HSET', key, 'restoring', ARGV[2])
end
redis.call('EXPIRE', key, 86400)
return {'OK', found[2] or ARGV[2]}
