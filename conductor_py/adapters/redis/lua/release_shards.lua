-- PURPOSE    Give back the presence and all shard names of a server.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       server
-- RETURNS    how many names went
-- INVARIANT  The names and their terms stay known, so a live server takes them over under higher ones.
-- BOUND      Shard names ever at once.
-- @include room
local P, gone = KEYS[1], 0
goes_on(P)
redis.call('HDEL', P .. 'servers', ARGV[1])
local flat = redis.call('HGETALL', P .. 'shards')
for i = 1, #flat, 2 do
  local term, owner = string.match(flat[i + 1], '^%d+ (%d+) (.*)$')
  if owner == ARGV[1] then
    redis.call('HSET', P .. 'shards', flat[i], '0 ' .. term .. ' ')
    gone = gone + 1
  end
end
return gone
