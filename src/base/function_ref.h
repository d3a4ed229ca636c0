// SPDX-License-Identifier: Apache-2.0
// FunctionRef: a reference to a callable, two pointers wide. It owns nothing: the callable must outlive the call it is
// passed to. For parameters only; std::function would allocate for captures of more than two pointers.
#pragma once
#include <memory>
#include <type_traits>
#include <utility>

namespace nbx {

template <class Signature>
class FunctionRef;

template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F,
            class = std::enable_if_t<!std::is_same_v<std::remove_cv_t<std::remove_reference_t<F>>, FunctionRef> &&
                                     std::is_invocable_r_v<R, F&, Args...>>>
  FunctionRef(F&& f)  // implicit, so that a lambda can be passed
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }) {
    static_assert(!std::is_function_v<std::remove_reference_t<F>>, "wrap a plain function in a lambda");
  }

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace nbx
