-- PURPOSE    Give the decide lease up for a while: the execution's timer is due later, or now when more has come.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, holder, take the lease, last event seen, delay in ms, waits for a script
-- RETURNS    1, or 0 when the lease was lost
-- INVARIANT  Only the holder gives up. The inbox does not change.
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
if not present[1] or (ARGV[4] == '1' and (owner ~= ARGV[3] or ends <= now)) then
  return 0
end
local record = read_record(present[1])
local due = now + tonumber(ARGV[6])
if record.base + redis.call('LLEN', P .. 'inbox:' .. id) - 1 > tonumber(ARGV[5]) then
  due = now
end
-- Free, and says what it waits for. Quarantine is not this holder's to end.
if owner ~= 'quarantine' then
  redis.call('HSET', key, 'l', ARGV[7] == '1' and '0 scripts' or '')
end
redis.call('ZADD', P .. 'timers:' .. record.home, int(due), 'x:' .. id)
return 1
