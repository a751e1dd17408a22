-- PURPOSE    Forget a payload that has left its storage.
-- KEYS       prefix of partition 0 (every key used is it and a name of keys.py)
-- ARGV       path, version that was looked at
-- RETURNS    1; 0 when the record is another
-- INVARIANT  Nothing of it is left.
-- BOUND      The holders of one payload.
local P, path = KEYS[1], ARGV[1]
local record = P .. 'payload:' .. path
if redis.call('HGET', record, '#') ~= ARGV[2] then
  return 0
end
for _, holder in ipairs(redis.call('HKEYS', record)) do
  redis.call('SREM', P .. 'payloads:of:' .. holder, path)
end
redis.call('DEL', record)
redis.call('ZREM', P .. 'payloads:due', path)
return 1
