-- Answers of operations: "<ms>" while owed, "<ms> <answer>" once given; at most 64, for 60 s.
local function answer_of(P, id, operation, now)
  local text = redis.call('HGET', P .. 'ans:' .. id, operation)
  if not text then
    return nil
  end
  local at, space, answer = string.match(text, '^(%d+)( ?)(.*)$')
  if now - tonumber(at) > 60000 then
    return nil
  end
  return {answered = space == ' ', text = answer}
end

local function put_answer(P, id, operation, text)
  local key = P .. 'ans:' .. id
  redis.call('HSET', key, operation, text)
  redis.call('PEXPIRE', key, 60000)
  if redis.call('HLEN', key) > 64 then
    local all = redis.call('HGETALL', key)
    local oldest, age
    for i = 1, #all, 2 do
      local at = tonumber(string.match(all[i + 1], '^%d+'))
      if all[i] ~= operation and (not age or at < age) then
        oldest, age = all[i], at
      end
    end
    redis.call('HDEL', key, oldest)
  end
end
