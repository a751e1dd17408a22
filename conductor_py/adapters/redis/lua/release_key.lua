-- PURPOSE    Let go of the idempotency key of an execution that is forgotten.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, workflow name, key
-- RETURNS    OK
-- INVARIANT  A key that another execution has taken stays. Releases before wrote names otherwise (start_execution.lua).
-- BOUND      Constant.
-- @include room
local P = KEYS[1]
goes_on(P)
local escaped = string.gsub(ARGV[2], '[%%:]', {['%'] = '%25', [':'] = '%3A'})
for _, name in ipairs({escaped, ARGV[2]}) do
  local key = P .. 'idem:' .. name .. ':' .. ARGV[3]
  if redis.call('GET', key) == ARGV[1] then
    redis.call('DEL', key)
  end
end
return 'OK'
