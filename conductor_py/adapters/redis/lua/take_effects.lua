-- PURPOSE    Take due effects for delivery; each is due again after the lease.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       now, limit, lease in ms
-- RETURNS    {id, '<stamp> <document>', …}
-- INVARIANT  Nothing leaves the outbox here. What cannot be read is put aside.
-- BOUND      The limit.
-- @include time
-- @include damage
-- @include late
local P, now = KEYS[1], store_now(ARGV[1])
local due = redis.call('ZRANGE', P .. 'outbox', '-inf', int(now), 'BYSCORE', 'LIMIT', 0, ARGV[2], 'WITHSCORES')
local out, noted = {}, redis.call('EXISTS', P .. 'damaged') == 1
note_late_head(P, due, now)
for n = 1, #due, 2 do
  local id = due[n]
  local text = redis.call('HGET', P .. 'effects', id)
  local document = text and string.match(text, '^%d+ (.+)$')
  if text and not (document and pcall(cjson.decode, document)) then
    put_aside(P, 'outbox', id, 'the stored effect cannot be read', now)
  elseif text then
    forget_damage(P, 'outbox', id, noted)
    redis.call('ZADD', P .. 'outbox', int(now + tonumber(ARGV[3])), id)
    out[#out + 1] = id
    out[#out + 1] = text
  else
    redis.call('ZREM', P .. 'outbox', id)
  end
end
return out
