-- PURPOSE    Make a worker's result durable in the inbox, close its claim, try the lease.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, channel, id, seq, claim, worker, event, output given, output, holder, lease in ms, take the lease
-- RETURNS    {OK, now, loaded | false} {IGNORED | SUPERSEDED | UNKNOWN_TASK | GONE, now}
-- INVARIANT  One result a claim: after OK nothing changes the attempt until a commit. The version does not move.
-- BOUND      Events returned: 1,000; fields: 1 MB.
-- @include room
-- @include time
-- @include record
-- @include lease
-- @include claim
-- @include wake
-- @include end_attempt
-- @include read
-- @include loaded
local P, now, channel, id, seq = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local claim, worker = tonumber(ARGV[5]), ARGV[6]
local key = P .. 'exec:' .. id

local present = redis.call('HMGET', key, 'v', 'h', 'l', 'a:' .. seq, 'c:' .. seq)
if not present[1] then
  return {'GONE', now}
end
if not present[4] then
  return {'UNKNOWN_TASK', now}
end
local record, c = read_record(present[1]), read_claim(present[5])
-- Of an attempt that is held without a permit nothing is asked but whether it is open.
local status, generation = string.match(present[4], '"st":%s*"([A-Z_]+)",%s*"gen":%s*(%d+)')
local enough = status and c.held == 1 and c.permit == 0
local a = enough and {st = status, gen = tonumber(generation)} or cjson.decode(present[4])
if not is_open(record, present[2], tonumber(seq), a) or c.closed == 1 or (claim > 0 and c.done == claim) then
  return {'IGNORED', now}
end
if claim > 0 then
  if c.k ~= claim then
    return {'SUPERSEDED', now}
  end
elseif worker ~= '' and c.w ~= worker and held_before(c, worker) then
  return {'SUPERSEDED', now}
end

may_need_room(P, #ARGV[7] + #ARGV[9])
end_attempt(P, channel, record.home, id, seq, a, c)
local waiting = redis.call('RPUSH', P .. 'inbox:' .. id, ARGV[7])
c.done, c.held, c.closed, c.permit, c.at, c.upd = c.held == 1 and c.k or c.done, 0, 1, 0, 0, now
local ends = lease_of(present[3])
local won = ends <= now
local until_ms = won and now + tonumber(ARGV[11]) or ends
local set = {'c:' .. seq, write_claim(c)}
if ARGV[8] == '1' then
  set[3], set[4] = 'o:' .. seq, ARGV[9]
end
if ARGV[12] == '1' and won then
  set[#set + 1] = 'l'
  set[#set + 1] = int(until_ms) .. ' ' .. ARGV[10]
end
redis.call('HSET', key, unpack(set))
if won then
  redis.call('ZADD', P .. 'timers:' .. record.home, int(until_ms), 'x:' .. id)
  return {'OK', now, loaded(P, id, record, present[2], now, waiting == 1 and {ARGV[7]} or nil, seq, present[4])}
end
redis.call('ZADD', P .. 'timers:' .. record.home, 'LT', int(until_ms), 'x:' .. id)
return {'OK', now, false}
