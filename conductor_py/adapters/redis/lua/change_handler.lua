-- PURPOSE    Put or delete one event handler, and keep the handlers of each event findable.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       name, mode (create | update | delete), event, document
-- RETURNS    1, or 0 when nothing changed
-- INVARIANT  A handler is listed under its present event and no other.
-- BOUND      Constant.
-- @include room
local P, name, mode = KEYS[1], ARGV[1], ARGV[2]
if mode == 'delete' then
  goes_on(P)
else
  needs_room(P)
end
local key = P .. 'meta:handlers'
local present = redis.call('HGET', key, name)
if (mode == 'create' and present) or (mode ~= 'create' and not present) then
  return 0
end
if present then
  redis.call('SREM', P .. 'meta:handled:' .. string.match(present, '^[^\n]*'), name)
end
if mode == 'delete' then
  redis.call('HDEL', key, name)
else
  redis.call('HSET', key, name, ARGV[3] .. '\n' .. ARGV[4])
  redis.call('SADD', P .. 'meta:handled:' .. ARGV[3], name)
end
return 1
