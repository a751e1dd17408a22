-- PURPOSE    Make an archived execution present again whose fields are in place.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, channel, id, version, home, status, generation, highest claim, effect, its document, its due,
--            number of plans, plan, …, log line, …
-- RETURNS    OK | EXISTS | NEED_PLAN | GONE (its fields expired: put them again)
-- INVARIANT  Creates only if absent, terminal, with a version above the archived one and an empty inbox. Its plan
--            counts it. An order under the same effect id that waits already is replaced: whoever has carried that one
--            out, and has yet to confirm it, does not confirm this one.
-- BOUND      The number of arguments; log lines: 10,000.
-- @include time
-- @include record
-- @include references
-- @include wake
local P, now, channel, id = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3]
local key, log = P .. 'exec:' .. id, P .. 'log:' .. id
local present = redis.call('HMGET', key, 'v', 'h')
if present[1] then
  return 'EXISTS'
end
if not present[2] then
  return 'GONE'
end
local plans = tonumber(ARGV[12])
for i = 13, 12 + plans do
  if redis.call('EXISTS', P .. 'plan:' .. ARGV[i]) == 0 then
    return 'NEED_PLAN'
  end
end

for i = 13, 12 + plans do
  redis.call('HSET', P .. 'plan:' .. ARGV[i], 'used_at', int(now))
end
local version = math.max(tonumber(ARGV[4]) + 1, now)
redis.call('PERSIST', key)
redis.call('HSET', key, 'v', write_record({version = version, terminal = true,
  generation = tonumber(ARGV[7]), base = 1, home = ARGV[5], begun = 'restored', last = 'restored',
  status = ARGV[6]}), 'l', '', 'k', ARGV[8])
redis.call('DEL', P .. 'inbox:' .. id, P .. 'ans:' .. id, P .. 'park:' .. id, log)
for from = 13 + plans, #ARGV, 4000 do
  redis.call('RPUSH', log, unpack(ARGV, from, math.min(from + 3999, #ARGV)))
end
count_reference(P, plan_of_header(present[2]), 1)
redis.call('HSET', P .. 'effects', ARGV[9], int(version) .. ' ' .. ARGV[10])
redis.call('ZADD', P .. 'outbox', int(now + tonumber(ARGV[11])), ARGV[9])
publish(channel, 'e:' .. string.match(P, ':(%d+)}'))
return 'OK'
