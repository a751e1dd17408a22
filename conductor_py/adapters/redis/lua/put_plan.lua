-- PURPOSE    Store a snapshot under its hash.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, hash, field, value, … (blob, owner of a fragment, n:<ref>)
-- RETURNS    1
-- INVARIANT  The same hash is the same content: storing again only touches it.
-- BOUND      The number of arguments.
-- @include room
-- @include time
may_need_room(KEYS[1], given_bytes(3))
local key, now = KEYS[1] .. 'plan:' .. ARGV[2], int(store_now(ARGV[1]))
redis.call('HSET', key, 'used_at', now)
for from = 3, #ARGV, 4000 do
  redis.call('HSET', key, unpack(ARGV, from, math.min(from + 3999, #ARGV)))
end
redis.call('ZADD', KEYS[1] .. 'plans', 'NX', now, ARGV[2])
return 1
