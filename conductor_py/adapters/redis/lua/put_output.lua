-- PURPOSE    Keep an output for a while.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, key, output, its life in ms, most entries
-- RETURNS    1
-- INVARIANT  No more entries are kept than may be; what expires first goes first.
-- BOUND      100 entries are dropped at once.
-- @include room
-- @include time
local P, now, key = KEYS[1], store_now(ARGV[1]), ARGV[2]
needs_room(P)
local index = P .. 'cached'
redis.call('SET', P .. 'cache:' .. key, ARGV[3], 'PX', ARGV[4])
redis.call('ZADD', index, int(now + tonumber(ARGV[4])), key)
for _ = 1, 100 do
  local first = redis.call('ZRANGE', index, 0, 0, 'WITHSCORES')
  local full = redis.call('ZCARD', index) > tonumber(ARGV[5])
  if not first[1] or not (full or tonumber(first[2]) <= now) then
    break
  end
  redis.call('ZREM', index, first[1])
  redis.call('UNLINK', P .. 'cache:' .. first[1])
end
return 1
