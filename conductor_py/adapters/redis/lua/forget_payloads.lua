-- PURPOSE    End the records of payloads.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       paths
-- RETURNS    1
-- INVARIANT  Nothing of them is left.
-- BOUND      The holders of these payloads.
-- @include room
local P = KEYS[1]
goes_on(P)
for _, path in ipairs(ARGV) do
  local record = P .. 'payload:' .. path
  for _, holder in ipairs(redis.call('HKEYS', record)) do
    redis.call('SREM', P .. 'payloads:of:' .. holder, path)
  end
  redis.call('DEL', record)
  redis.call('ZREM', P .. 'payloads:due', path)
end
return 1
