-- PURPOSE    Delete an execution in quarantine whose record cannot be read: nothing can end it.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id
-- RETURNS    1; 0 when it is not in quarantine or can be read
-- INVARIANT  What can be read stays. Its timers and entries drop out by themselves: their owner is gone.
-- BOUND      Constant; memory is freed in the background.
-- @include room
-- @include record
-- @include lease
-- @include setback
local P, id = KEYS[1], ARGV[1]
goes_on(P)
local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'l', 'h')
local _, owner = lease_of(present[2])
if not present[1] or owner ~= QUARANTINE or pcall(read_record, present[1]) then
  return 0
end
local named, name = pcall(function()
  return cjson.decode(present[3]).name
end)
if named and type(name) == 'string' then
  redis.call('ZREM', P .. 'running:' .. name, id)
end
redis.call('ZREM', P .. 'quarantine', id)
for _, kind in ipairs({'exec', 'inbox', 'ans', 'park', 'ckpt', 'log'}) do
  redis.call('UNLINK', P .. kind .. ':' .. id)
end
return 1
