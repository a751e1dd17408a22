-- Brings parked entries back to their queues, at most 2,000; true when some are left (the timer then goes on).
local function unpark(P, channel, id)
  local key = P .. 'park:' .. id
  local seqs = redis.call('SPOP', key, 2000)
  if #seqs == 0 then
    return false
  end
  for from = 1, #seqs, 1000 do
    local upto = math.min(from + 999, #seqs)
    local names = {}
    for i = from, upto do
      names[#names + 1] = 'a:' .. seqs[i]
    end
    local states = redis.call('HMGET', P .. 'exec:' .. id, unpack(names))
    for i = from, upto do
      local state = states[i - from + 1]
      if state then
        local a = cjson.decode(state)
        redis.call('ZADD', P .. 'queue:' .. a.q .. ':' .. a.sh, a.score, id .. '-' .. seqs[i])
        redis.call('SADD', P .. 'queues', a.q .. '\n' .. a.sh)
        publish(channel, 'q:' .. a.q)
      end
    end
  end
  return redis.call('EXISTS', key) == 1
end
