-- PURPOSE    Delete an execution in quarantine whose record or header cannot be read: nothing can end it.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id; perhaps the header that nobody can read
-- RETURNS    1; 0 when it is not in quarantine or can be read
-- INVARIANT  What can be read stays, and so does what has another header meanwhile. Its timers and entries drop out by
--            themselves: their owner is gone.
-- BOUND      Constant; memory is freed in the background.
-- @include room
-- @include record
-- @include lease
-- @include setback
-- @include references
local P, id = KEYS[1], ARGV[1]
goes_on(P)
local present = redis.call('HMGET', P .. 'exec:' .. id, 'v', 'l', 'h')
local _, owner = lease_of(present[2])
local is_damaged = ARGV[2] == (present[3] or '') or not pcall(read_record, present[1] or '')
if not present[1] or owner ~= QUARANTINE or not is_damaged then
  return 0
end
local is_json, header = pcall(cjson.decode, present[3] or '')
local name = is_json and type(header) == 'table' and header.name
  or string.match(present[3] or '', '"name":%s*"([^"\\]*)"')
if type(name) == 'string' then
  redis.call('ZREM', P .. 'running:' .. name, id)
end
count_reference(P, plan_of_header(present[3]), -1)
redis.call('ZREM', P .. 'quarantine', id)
for _, kind in ipairs({'exec', 'inbox', 'ans', 'park', 'ckpt', 'log'}) do
  redis.call('UNLINK', P .. kind .. ':' .. id)
end
return 1
