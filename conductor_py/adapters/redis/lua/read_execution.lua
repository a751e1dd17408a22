-- PURPOSE    Read all fields of an execution, unless that is much.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, fields, bytes
-- RETURNS    names and values; or, where there are more than so many fields or bytes, the two numbers
-- INVARIANT  Writes nothing.
-- BOUND      The fields and the bytes.
local key = KEYS[1] .. 'exec:' .. ARGV[1]
local fields = redis.call('HLEN', key)
if fields == 0 then
  return {}
end
local is_wide = fields > tonumber(ARGV[2])
-- Of all fields, unless these are many: a few large ones are easily missed.
local bytes = redis.call('MEMORY', 'USAGE', key, 'SAMPLES', is_wide and 1000 or 0)
if is_wide or bytes > tonumber(ARGV[3]) then
  return { fields, bytes }
end
return redis.call('HGETALL', key)
