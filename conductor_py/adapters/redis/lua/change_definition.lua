-- PURPOSE    Put or delete one definition and raise the revision of this partition.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       kind (workflow | task | schema), name, field (version; the name for a task, both for a schema), mode (put |
--            create | update | delete), document, now
-- RETURNS    the new revision, 0 when nothing changed
-- INVARIANT  Nobody reads the new definition under the old revision; a name that the catalog has published is its own.
-- BOUND      Constant.
-- @include room
-- @include time
-- @include revision
local P, kind, name, field, mode = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if mode == 'delete' then
  goes_on(P)
else
  needs_room(P)
end
local key = P .. 'meta:workflow:' .. name
if kind == 'task' then
  key = P .. 'meta:tasks'
elseif kind == 'schema' then
  key = P .. 'meta:schemas'
end
if kind == 'workflow' and redis.call('HEXISTS', key, 'published') == 1 then
  return 0
end
local present = redis.call('HEXISTS', key, field) == 1
if (mode == 'create' and present) or ((mode == 'update' or mode == 'delete') and not present) then
  return 0
end
if mode == 'delete' then
  redis.call('HDEL', key, field)
  if kind == 'workflow' and redis.call('EXISTS', key) == 0 then
    redis.call('SREM', P .. 'meta:workflows', name)
  end
else
  redis.call('HSET', key, field, ARGV[5])
  if kind == 'workflow' then
    redis.call('SADD', P .. 'meta:workflows', name)
  end
end
return next_revision(P, store_now(ARGV[6]))
