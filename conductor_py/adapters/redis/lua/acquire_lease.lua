-- PURPOSE    Take the decide lease when it is free, or already this holder's, and there is something to do.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, holder, lease in ms, take the lease
-- RETURNS    {OK, now, loaded} {GONE | BUSY, now}
-- INVARIANT  A hint of who works: neither version nor inbox change.
-- BOUND      Events returned: 1,000; fields: 1 MB.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include read
-- @include loaded
local P, now, id, holder = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3]
goes_on(P)
local key = P .. 'exec:' .. id
local present = redis.call('HMGET', key, 'v', 'h', 'l')
if not present[1] then
  return {'GONE', now}
end
local record = read_record(present[1])
local ends, owner = lease_of(present[3])
if ends > now and owner ~= holder then
  return {'BUSY', now}
end
local timers = P .. 'timers:' .. record.home
if redis.call('EXISTS', P .. 'inbox:' .. id) == 0 then
  local due = redis.call('ZSCORE', timers, 'x:' .. id)
  if not due or tonumber(due) > now then
    return {'BUSY', now}
  end
end
local until_ms = int(now + tonumber(ARGV[4]))
if ARGV[5] == '1' then
  redis.call('HSET', key, 'l', until_ms .. ' ' .. holder)
end
redis.call('ZADD', timers, until_ms, 'x:' .. id)
return {'OK', now, loaded(P, id, record, present[2], now)}
