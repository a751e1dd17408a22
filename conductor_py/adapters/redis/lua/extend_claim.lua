-- PURPOSE    Prolong a held claim and keep the worker's progress.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, id, seq, claim, worker, lease in ms, progress given, progress
-- RETURNS    {OK, new end} {SUPERSEDED | IGNORED | UNKNOWN_TASK | GONE, 0}
-- INVARIANT  Past its end a claim is not prolonged; the version does not move. A full store keeps no large progress.
-- BOUND      Constant.
-- @include room
-- @include time
-- @include record
-- @include claim
local P, now, id, seq, claim, worker = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5]
-- Progress of more than 4 KB is kept where a result as large is taken; the claim goes on without it.
local keeps = ARGV[7] == '1' and may_take(P, #ARGV[8])
goes_on(P)
local key = P .. 'exec:' .. id
local present = redis.call('HMGET', key, 'v', 'h', 'a:' .. seq, 'c:' .. seq)
if not present[1] then
  return {'GONE', 0}
end
if not present[3] then
  return {'UNKNOWN_TASK', 0}
end
local record, a, c = read_record(present[1]), cjson.decode(present[3]), read_claim(present[4])
if c.closed == 1 or not is_open(record, present[2], tonumber(seq), a) then
  return {'IGNORED', 0}
end
local ends = c['until']
if c.held == 0 or (ends > 0 and ends <= now) or (claim > 0 and claim ~= c.k)
  or (claim == 0 and worker ~= '' and worker ~= c.w) then
  return {'SUPERSEDED', 0}
end

local lease_ms, rt = tonumber(ARGV[6]), a.rt or 0
if ends > 0 then
  local span = rt
  if c.leased == 1 and lease_ms > 0 and (rt == 0 or lease_ms < rt) then
    span = lease_ms
  end
  if span > 0 then
    c['until'] = math.max(ends, now + span)
  end
end
c.upd, c.at = now, nearest_deadline(a, c)
local set = {'c:' .. seq, write_claim(c)}
if keeps then
  set[3], set[4] = 'p:' .. seq, ARGV[8]
end
redis.call('HSET', key, unpack(set))
local member = id .. '-' .. seq
if c.at > 0 then
  redis.call('ZADD', P .. 'timers:' .. record.home, int(c.at), 'a:' .. member)
end
if c.permit == 1 and c['until'] > 0 then
  redis.call('ZADD', P .. 'limit:' .. a.def, 'XX', int(c['until']), member)
end
return {'OK', c['until']}
