-- PURPOSE    Take an execution out of quarantine, and its lease.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, holder, lease in ms, take the lease
-- RETURNS    loaded, or false when it is not in quarantine
-- INVARIANT  Inbox, version and setbacks do not change: unless a decision is committed, the next one to fail takes it
--            back.
-- BOUND      Events returned: 1,000; fields: 1 MB.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include setback
-- @include read
-- @include loaded
local P, now, id = KEYS[1], store_now(ARGV[1]), ARGV[2]
goes_on(P)
local key = P .. 'exec:' .. id
local present = redis.call('HMGET', key, 'v', 'l', 'h')
local _, owner = lease_of(present[2])
if not present[1] or owner ~= QUARANTINE then
  redis.call('ZREM', P .. 'quarantine', id)
  return false
end
local record, until_ms = read_record(present[1]), int(now + tonumber(ARGV[4]))
redis.call('ZREM', P .. 'quarantine', id)
redis.call('HSET', key, 'l', ARGV[5] == '1' and until_ms .. ' ' .. ARGV[3] or '')
redis.call('ZADD', P .. 'timers:' .. record.home, until_ms, 'x:' .. id)
return loaded(P, id, record, present[3] or '', now)
