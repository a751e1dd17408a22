-- PURPOSE    Append the event of an operation or signal to the inbox, try the lease.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, operation, event, holder, lease in ms, take the lease, most events that may wait (0: any),
--            whether it makes new work
-- RETURNS    {OK, now, loaded | false, answer | false} {GONE | LIMITED, now}
-- INVARIANT  A repeat of the operation appends nothing. The version does not move.
-- BOUND      Events returned: 1,000; fields: 1 MB; answers looked at: 1,088.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include read
-- @include loaded
-- @include answers
local P, now, id, operation, holder = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3], ARGV[5]
local key = P .. 'exec:' .. id
local present = redis.call('HMGET', key, 'v', 'h', 'l')
if not present[1] then
  return {'GONE', now}
end
local record = read_record(present[1])
local answer = answer_of(P, id, operation, now)
if answer and answer.answered then
  return {'OK', now, false, answer.text}
end

local most = tonumber(ARGV[8])
if not answer and most > 0 and redis.call('LLEN', P .. 'inbox:' .. id) >= most then
  return {'LIMITED', now}
end
if not answer and ARGV[9] == '1' then
  needs_room(P)
elseif not answer then
  may_need_room(P, #ARGV[4])
else
  goes_on(P)
end
local ends, owner = lease_of(present[3])
local won = ends <= now or (answer ~= nil and owner == holder)
local until_ms = won and now + tonumber(ARGV[6]) or ends
if not answer then
  redis.call('RPUSH', P .. 'inbox:' .. id, ARGV[4])
  put_answer(P, id, operation, int(now), now)
end
if not won then
  redis.call('ZADD', P .. 'timers:' .. record.home, 'LT', int(until_ms), 'x:' .. id)
  return {'OK', now, false, false}
end
redis.call('ZADD', P .. 'timers:' .. record.home, int(until_ms), 'x:' .. id)
if ARGV[7] == '1' then
  redis.call('HSET', key, 'l', int(until_ms) .. ' ' .. holder)
end
return {'OK', now, loaded(P, id, record, present[2], now), false}
