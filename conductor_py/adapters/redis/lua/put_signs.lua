-- PURPOSE    Replace signs of life; drop those that have ended.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       now, lease in ms, most signs, key and document of each …
-- RETURNS    how many signs there are
-- INVARIANT  Each sign has its end in the set of ends; never more signs than the most.
-- BOUND      The signs named, and 1,000 that have ended.
-- @include room
-- @include time
goes_on(KEYS[1])
local now, lease, most = store_now(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local signs, ends = KEYS[1] .. 'signs', KEYS[1] .. 'signs:until'
local function forget(keys)
  for _, key in ipairs(keys) do
    redis.call('HDEL', signs, key)
    redis.call('ZREM', ends, key)
  end
end
for i = 4, #ARGV, 2 do
  local until_ms = int(now + lease)
  redis.call('HSET', signs, ARGV[i], int(now) .. ' ' .. until_ms .. ' ' .. ARGV[i + 1])
  redis.call('ZADD', ends, until_ms, ARGV[i])
end
forget(redis.call('ZRANGE', ends, '-inf', int(now), 'BYSCORE', 'LIMIT', 0, 1000))
local over = redis.call('ZCARD', ends) - most
if over > 0 then
  forget(redis.call('ZRANGE', ends, 0, over - 1))
end
return redis.call('ZCARD', ends)
