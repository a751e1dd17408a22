-- PURPOSE    Prolong the decide lease, and push the execution's timer behind its end.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, holder, lease in ms
-- RETURNS    1, or 0 when the lease was lost
-- INVARIANT  Only the holder prolongs.
-- BOUND      Constant.
-- @include room
-- @include time
-- @include record
-- @include lease
local P, now, id = KEYS[1], store_now(ARGV[1]), ARGV[2]
goes_on(P)
local key = P .. 'exec:' .. id
local present = redis.call('HMGET', key, 'v', 'l')
local ends, owner = lease_of(present[2])
if not present[1] or owner ~= ARGV[3] or ends <= now then
  return 0
end
local until_ms = int(now + tonumber(ARGV[4]))
redis.call('HSET', key, 'l', until_ms .. ' ' .. owner)
redis.call('ZADD', P .. 'timers:' .. read_record(present[1]).home, until_ms, 'x:' .. id)
return 1
