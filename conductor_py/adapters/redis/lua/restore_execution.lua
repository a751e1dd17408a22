-- PURPOSE    Make an archived execution present again whose fields are in place.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, channel, id, token, fields put, checkpoints put, version, home, status, generation, highest claim, effect, its document, its due,
--            number of plans, plan, …, log line, …
-- RETURNS    OK | EXISTS | NEED_PLAN | GONE (another attempt, or none, is under way; or a page was lost, and the attempt
--            is over)
-- INVARIANT  Creates only if absent ever since the token was set, which was before its archive was read: nobody brought
--            it back meanwhile, took it further and archived more. Terminal, with a version above the archived one and
--            an empty inbox. Its plan counts it. An order under the same effect id that waits already is replaced: whoever has carried that one
--            out, and has yet to confirm it, does not confirm this one.
-- BOUND      The number of arguments; log lines: 10,000.
-- @include room
-- @include time
-- @include record
-- @include references
-- @include restoring
-- @include wake
local P, now, channel, id = KEYS[1], store_now(ARGV[1]), ARGV[2], ARGV[3]
goes_on(P)
local key, log = P .. 'exec:' .. id, P .. 'log:' .. id
local refused = not_restoring(P, id, ARGV[4])
if refused then
  return refused
end
if redis.call('HLEN', key) ~= tonumber(ARGV[5]) + 1 or redis.call('HLEN', P .. 'ckpt:' .. id) ~= tonumber(ARGV[6]) then
  redis.call('UNLINK', key, P .. 'ckpt:' .. id)
  return 'GONE'
end
local plans = tonumber(ARGV[15])
for i = 16, 15 + plans do
  if redis.call('EXISTS', P .. 'plan:' .. ARGV[i]) == 0 then
    return 'NEED_PLAN'
  end
end

for i = 16, 15 + plans do
  redis.call('HSET', P .. 'plan:' .. ARGV[i], 'used_at', int(now))
end
local version = math.max(tonumber(ARGV[7]) + 1, now)
redis.call('PERSIST', key)
redis.call('HDEL', key, 'restoring')
redis.call('PERSIST', P .. 'ckpt:' .. id)
redis.call('HSET', key, 'v', write_record({version = version, terminal = true,
  generation = tonumber(ARGV[10]), base = 1, home = ARGV[8], begun = 'restored', last = 'restored',
  status = ARGV[9]}), 'l', '', 'k', ARGV[11])
redis.call('DEL', P .. 'inbox:' .. id, P .. 'ans:' .. id, P .. 'park:' .. id, log)
for from = 16 + plans, #ARGV, 4000 do
  redis.call('RPUSH', log, unpack(ARGV, from, math.min(from + 3999, #ARGV)))
end
count_reference(P, plan_of_header(redis.call('HGET', key, 'h')), 1)
redis.call('HSET', P .. 'effects', ARGV[12], int(version) .. ' ' .. ARGV[13])
redis.call('ZADD', P .. 'outbox', int(now + tonumber(ARGV[14])), ARGV[12])
publish(channel, 'e:' .. string.match(P, ':(%d+)}'))
return 'OK'
