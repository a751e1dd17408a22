-- PURPOSE    Drop effects that their handlers confirmed.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, stamp, …
-- RETURNS    how many went
-- INVARIANT  One that was ordered anew meanwhile (another stamp) stays.
-- BOUND      The number of arguments.
local P, gone = KEYS[1], 0
for i = 1, #ARGV, 2 do
  local text = redis.call('HGET', P .. 'effects', ARGV[i])
  if text and string.match(text, '^%d+') == ARGV[i + 1] then
    redis.call('HDEL', P .. 'effects', ARGV[i])
    redis.call('ZREM', P .. 'outbox', ARGV[i])
    gone = gone + 1
  end
end
return gone
